-- $1: a part of the name, $2: how many rows at most, those with the most work first.
SELECT pg_catalog.jsonb_build_object(
    'name', queues.name,
    'paused', queues.paused OR coalesce(queues.paused_until > pg_catalog.statement_timestamp(), false),
    'paused_until', queues.paused_until,
    'slots', queues.max_running,
    'running', queues.running,
    'free', queues.free,
    'waiting', queues.waiting,
    'scheduled', queues.scheduled,
    'retryable', queues.retryable,
    'blocked', queues.blocked,
    'oldest_waiting_seconds', extract(epoch FROM queues.oldest_waiting),
    'claimed_per_minute', queues.claimed_per_minute,
    'finished_per_minute', queues.finished_per_minute,
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
FROM turnstile.queues
LEFT JOIN turnstile.stat_queue AS stat ON stat.name = queues.name
WHERE pg_catalog.strpos(pg_catalog.lower(queues.name), pg_catalog.lower($1)) > 0
ORDER BY queues.running + queues.waiting DESC, queues.name
LIMIT $2
