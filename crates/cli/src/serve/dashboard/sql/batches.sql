-- $1: a part of the id, the kind, the queue or the tenant, $2: how many rows at most: those that are live first, then the newest. How many of
-- the children have ended is not asked for here: the view counts them only then.
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
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.batches
    WHERE pg_catalog.strpos(
        pg_catalog.lower(pg_catalog.concat_ws(' ', batches.id, batches.kind, batches.queue, batches.tenant)), pg_catalog.lower($1)
    ) > 0
    ORDER BY is_live DESC, batches.id DESC
    LIMIT $2
) AS found
