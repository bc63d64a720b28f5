-- $1: ids of batches, as an array. How many of their children have ended. Of a live batch all of them are counted.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT batches.id, batches.total, batches.completed, batches.discarded, batches.cancelled
    FROM turnstile.batches
    WHERE batches.id = ANY ($1::pg_catalog.int8[])
) AS found
