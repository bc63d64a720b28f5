-- The batch of parent $1, without how many of its children have ended.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        batches.id, batches.kind, batches.queue, batches.tenant, batches.session, batches.state,
        batches.paused OR coalesce(batches.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT batches.paused AND pg_catalog.isfinite(batches.paused_until) THEN extract(epoch FROM batches.paused_until)::float8
        END AS paused_until,
        batches.slots, batches.running, batches.waiting, batches.finished_per_minute,
        extract(epoch FROM batches.started_at)::float8 AS started_at,
        extract(epoch FROM batches.estimated_end)::float8 AS estimated_end,
        batches.state NOT IN ('completed', 'cancelled', 'discarded') AS is_live,
        1 AS matching
    FROM turnstile.batches
    WHERE batches.id = $1
) AS found
