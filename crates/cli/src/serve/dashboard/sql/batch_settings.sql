-- The settings of batch $1, for those who may read them all.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        batch.slots, batch.rate, extract(epoch FROM batch.rate_per)::float8 AS rate_seconds, batch.burst, batch.priority, batch.max_failed,
        batch.on_end, batch.stops
    FROM turnstile.batch
    WHERE batch.id = $1
) AS found
