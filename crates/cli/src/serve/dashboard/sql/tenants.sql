-- $1: a part of the name, $2: how many rows at most, $3: the order. The noisy ones first: those with the largest share of what runs and
-- of what waits.
SELECT pg_catalog.to_json(found)::text
FROM (
    WITH whole AS MATERIALIZED (
        SELECT coalesce(pg_catalog.sum(queues.running), 0)::bigint AS running, coalesce(pg_catalog.sum(queues.waiting), 0)::bigint AS waiting
        FROM turnstile.queues
    )
    SELECT
        tenants.name, tenants.slots, tenants.max_waiting, tenants.weight,
        tenants.paused OR coalesce(tenants.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT tenants.paused AND pg_catalog.isfinite(tenants.paused_until) THEN extract(epoch FROM tenants.paused_until)::float8
        END AS paused_until,
        tenants.rate,
        extract(epoch FROM tenants.rate_per)::float8 AS rate_seconds,
        tenants.burst,
        tenants.running, tenants.free, tenants.waiting, tenants.scheduled, tenants.retryable, tenants.blocked,
        extract(epoch FROM tenants.oldest_waiting)::float8 AS oldest_seconds,
        tenants.claimed_per_minute, tenants.finished_per_minute,
        stat.failed, stat.discarded, stat.wait_ms_p95 AS wait_p95_ms,
        whole.running AS all_running, whole.waiting AS all_waiting,
        pg_catalog.count(*) FILTER (WHERE tenants.running + tenants.waiting > 0) OVER () AS active,
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.tenants
    LEFT JOIN turnstile.stat_tenant AS stat ON stat.name = tenants.name
    CROSS JOIN whole
    WHERE pg_catalog.strpos(pg_catalog.lower(tenants.name), pg_catalog.lower($1)) > 0
    ORDER BY
        CASE $3
            WHEN 'name' THEN 0
            WHEN 'running' THEN tenants.running
            WHEN 'waiting' THEN tenants.waiting
            WHEN 'oldest' THEN extract(epoch FROM tenants.oldest_waiting)
            WHEN 'later' THEN tenants.scheduled + tenants.retryable + tenants.blocked
            WHEN 'started' THEN tenants.claimed_per_minute
            WHEN 'finished' THEN tenants.finished_per_minute
            WHEN 'wait' THEN stat.wait_ms_p95
            WHEN 'failed' THEN stat.failed
            ELSE tenants.running / greatest(whole.running, 1)::float8 + tenants.waiting / greatest(whole.waiting, 1)::float8
        END::float8 DESC NULLS LAST,
        tenants.waiting + tenants.running DESC,
        tenants.name
    LIMIT $2
) AS found
