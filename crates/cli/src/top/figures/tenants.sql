-- $1: a part of the name, $2: how many rows at most, those with the most work first.
SELECT pg_catalog.jsonb_build_object(
    'name', tenants.name,
    'paused', tenants.paused OR coalesce(tenants.paused_until > pg_catalog.statement_timestamp(), false),
    'paused_until', tenants.paused_until,
    'slots', tenants.slots,
    'running', tenants.running,
    'free', tenants.free,
    'waiting', tenants.waiting,
    'scheduled', tenants.scheduled,
    'retryable', tenants.retryable,
    'blocked', tenants.blocked,
    'oldest_waiting_seconds', extract(epoch FROM tenants.oldest_waiting),
    'claimed_per_minute', tenants.claimed_per_minute,
    'finished_per_minute', tenants.finished_per_minute,
    'statistics', CASE WHEN stat.name IS NOT NULL THEN pg_catalog.jsonb_build_object(
        'since', stat.stats_reset,
        'enqueued', stat.enqueued,
        'started', stat.started,
        'completed', stat.completed,
        'failed', stat.failed,
        'retried', stat.retried,
        'discarded', stat.discarded,
        'cancelled', stat.cancelled,
        'rescued', stat.rescued,
        'wait', pg_catalog.jsonb_build_object(
            'counts', stat.wait_ms, 'p50_ms', stat.wait_ms_p50, 'p95_ms', stat.wait_ms_p95, 'p99_ms', stat.wait_ms_p99
        ),
        'run', pg_catalog.jsonb_build_object(
            'counts', stat.run_ms, 'p50_ms', stat.run_ms_p50, 'p95_ms', stat.run_ms_p95, 'p99_ms', stat.run_ms_p99
        )
    ) END
)
FROM turnstile.tenants
LEFT JOIN turnstile.stat_tenant AS stat ON stat.name = tenants.name
WHERE pg_catalog.strpos(pg_catalog.lower(tenants.name), pg_catalog.lower($1)) > 0
ORDER BY tenants.running + tenants.waiting DESC, tenants.name
LIMIT $2
