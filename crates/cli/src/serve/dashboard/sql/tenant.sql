-- $1: the tenant. The limits are those in force.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        tenants.name, tenants.slots, tenants.max_waiting, tenants.weight,
        tenants.paused OR coalesce(tenants.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT tenants.paused AND pg_catalog.isfinite(tenants.paused_until) THEN extract(epoch FROM tenants.paused_until)::float8
        END AS paused_until,
        tenants.rate,
        tenants.rate_per::text AS rate_per,
        extract(epoch FROM tenants.rate_per)::float8 AS rate_seconds,
        tenants.burst,
        tenants.running, tenants.starting, tenants.free, tenants.waiting, tenants.scheduled, tenants.retryable, tenants.blocked,
        extract(epoch FROM tenants.oldest_waiting)::float8 AS oldest_seconds,
        tenants.claimed_per_minute, tenants.finished_per_minute,
        whole.running AS all_running, whole.waiting AS all_waiting,
        CASE WHEN stat.name IS NOT NULL THEN pg_catalog.json_build_object(
            'since', extract(epoch FROM stat.stats_reset)::float8,
            'enqueued', stat.enqueued, 'started', stat.started, 'completed', stat.completed, 'failed', stat.failed,
            'retried', stat.retried, 'discarded', stat.discarded, 'cancelled', stat.cancelled, 'rescued', stat.rescued,
            'wait_ms', stat.wait_ms, 'run_ms', stat.run_ms, 'total_wait_ms', stat.total_wait_ms, 'bounds_ms', turnstile.histogram_bounds()
        ) END AS statistics
    FROM turnstile.tenants
    LEFT JOIN turnstile.stat_tenant AS stat ON stat.name = tenants.name
    CROSS JOIN (
        SELECT coalesce(pg_catalog.sum(queues.running), 0)::bigint AS running, coalesce(pg_catalog.sum(queues.waiting), 0)::bigint AS waiting
        FROM turnstile.queues
    ) AS whole
    WHERE tenants.name = $1
) AS found
