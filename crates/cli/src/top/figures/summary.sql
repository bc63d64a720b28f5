SELECT pg_catalog.jsonb_build_object(
    'at', pg_catalog.statement_timestamp(),
    'clock', pg_catalog.to_char(pg_catalog.statement_timestamp(), 'HH24:MI:SS'),
    'database', pg_catalog.current_database(),
    'in_recovery', pg_catalog.pg_is_in_recovery(),
    'histogram_bounds_ms', pg_catalog.to_jsonb(turnstile.histogram_bounds()),
    'totals', (
        SELECT pg_catalog.jsonb_build_object(
            'queues', pg_catalog.count(*),
            'running', coalesce(pg_catalog.sum(queues.running), 0),
            'waiting', coalesce(pg_catalog.sum(queues.waiting), 0),
            'scheduled', coalesce(pg_catalog.sum(queues.scheduled), 0),
            'retryable', coalesce(pg_catalog.sum(queues.retryable), 0),
            'blocked', coalesce(pg_catalog.sum(queues.blocked), 0),
            'claimed_per_minute', coalesce(pg_catalog.sum(queues.claimed_per_minute), 0),
            'finished_per_minute', coalesce(pg_catalog.sum(queues.finished_per_minute), 0),
            'oldest_waiting_seconds', extract(epoch FROM pg_catalog.max(queues.oldest_waiting))
        )
        FROM turnstile.queues
    ),
    'memory', (
        SELECT pg_catalog.jsonb_build_object(
            'lanes', memory.lanes,
            'lanes_outside', memory.lanes_outside,
            'bytes', memory.bytes,
            'bytes_limit', memory.bytes_limit
        )
        FROM turnstile.memory
        WHERE memory.database = pg_catalog.current_database()
    )
)
