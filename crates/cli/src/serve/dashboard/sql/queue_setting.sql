-- $1: the queue, or * for the settings of those without a row.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        queue.name = $1 AS is_own,
        queue.name,
        queue.max_running AS slots, queue.max_waiting, queue.rate,
        queue.rate_per::text AS rate_per,
        extract(epoch FROM queue.rate_per)::float8 AS rate_seconds,
        queue.burst,
        queue.paused OR coalesce(queue.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT queue.paused AND pg_catalog.isfinite(queue.paused_until) THEN extract(epoch FROM queue.paused_until)::float8
        END AS paused_until,
        queue.policy,
        extract(epoch FROM queue.aging)::float8 AS aging_seconds,
        extract(epoch FROM queue.lease)::float8 AS lease_seconds,
        queue.max_attempts,
        extract(epoch FROM queue.retry_base)::float8 AS retry_base_seconds,
        extract(epoch FROM queue.retry_cap)::float8 AS retry_cap_seconds,
        queue.session_on_retry, queue.notify,
        extract(epoch FROM queue.keep_completed)::float8 AS keep_completed_seconds,
        extract(epoch FROM queue.keep_discarded)::float8 AS keep_discarded_seconds
    FROM turnstile.queue
    WHERE queue.name IN ($1, '*')
    ORDER BY queue.name = '*'
    LIMIT 1
) AS found
