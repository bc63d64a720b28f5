-- How many live jobs are in each state, of queue $1 or all. Figures alone.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        coalesce(pg_catalog.sum(queues.scheduled), 0)::bigint AS scheduled,
        coalesce(pg_catalog.sum(queues.retryable), 0)::bigint AS retryable,
        coalesce(pg_catalog.sum(queues.blocked), 0)::bigint AS blocked,
        coalesce(pg_catalog.sum(queues.running), 0)::bigint AS running,
        coalesce(pg_catalog.sum(queues.waiting), 0)::bigint AS waiting
    FROM turnstile.queues
    WHERE $1 IS NULL OR queues.name = $1
) AS found
