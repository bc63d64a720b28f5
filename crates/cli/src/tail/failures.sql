-- $1: the number to go on from.
SELECT pg_catalog.jsonb_build_object(
    'number', failed.cursor,
    'id', failed.id,
    'queue', failed.queue,
    'kind', failed.kind,
    'tenant', failed.tenant,
    'state', 'retryable',
    'attempt', failed.attempt,
    'worker', failed.worker,
    'finished_at', failed.failed_at,
    'at', extract(epoch FROM failed.failed_at),
    'clock', pg_catalog.to_char(failed.failed_at, 'YYYY-MM-DD HH24:MI:SS'),
    'error', failed.error,
    'retry_at', failed.retry_at
)
FROM turnstile.recent_failures($1) AS failed
