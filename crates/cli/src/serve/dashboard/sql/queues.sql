-- $1: a part of the name, $2: how many rows at most, $3: the order.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        queues.name,
        queues.max_running AS slots,
        queues.max_waiting,
        queues.paused OR coalesce(queues.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT queues.paused AND pg_catalog.isfinite(queues.paused_until) THEN extract(epoch FROM queues.paused_until)::float8
        END AS paused_until,
        queues.rate,
        extract(epoch FROM queues.rate_per)::float8 AS rate_seconds,
        queues.burst,
        queues.running, queues.free, queues.waiting, queues.scheduled, queues.retryable, queues.blocked,
        extract(epoch FROM queues.oldest_waiting)::float8 AS oldest_seconds,
        queues.claimed_per_minute, queues.finished_per_minute,
        stat.failed, stat.discarded, stat.wait_ms_p95 AS wait_p95_ms,
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.queues
    LEFT JOIN turnstile.stat_queue AS stat ON stat.name = queues.name
    WHERE pg_catalog.strpos(pg_catalog.lower(queues.name), pg_catalog.lower($1)) > 0
    ORDER BY
        CASE $3
            WHEN 'name' THEN 0
            WHEN 'running' THEN queues.running
            WHEN 'waiting' THEN queues.waiting
            WHEN 'oldest' THEN extract(epoch FROM queues.oldest_waiting)
            WHEN 'scheduled' THEN queues.scheduled
            WHEN 'retryable' THEN queues.retryable
            WHEN 'blocked' THEN queues.blocked
            WHEN 'started' THEN queues.claimed_per_minute
            WHEN 'finished' THEN queues.finished_per_minute
            WHEN 'wait' THEN stat.wait_ms_p95
            WHEN 'failed' THEN stat.failed
            ELSE queues.running + queues.waiting
        END::float8 DESC NULLS LAST,
        queues.name
    LIMIT $2
) AS found
