-- Of the gates that the statement begins with: $1: a part of the name, $2: how many rows at most, those with the most work first.
SELECT pg_catalog.jsonb_build_object(
    'name', gate.name,
    'paused', gate.paused OR coalesce(gate.paused_until > pg_catalog.statement_timestamp(), false),
    'paused_until', gate.paused_until,
    'slots', gate.slots,
    'running', gate.running,
    'free', gate.free,
    'waiting', gate.waiting,
    'scheduled', gate.scheduled,
    'retryable', gate.retryable,
    'blocked', gate.blocked,
    'oldest_waiting_seconds', extract(epoch FROM gate.oldest_waiting),
    'claimed_per_minute', gate.claimed_per_minute,
    'finished_per_minute', gate.finished_per_minute,
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
FROM gate
LEFT JOIN stat ON stat.name = gate.name
WHERE pg_catalog.strpos(pg_catalog.lower(gate.name), pg_catalog.lower($1)) > 0
ORDER BY gate.running + gate.waiting DESC, gate.name
LIMIT $2
