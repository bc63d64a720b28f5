-- $1: the cursor to go on from, $2: how many rows at most.
SELECT pg_catalog.jsonb_build_object(
    'id', ended.id,
    'queue', ended.queue,
    'kind', ended.kind,
    'tenant', ended.tenant,
    'state', ended.state,
    'attempt', ended.attempt,
    'worker', ended.worker,
    'created_at', ended.created_at,
    'claimed_at', ended.claimed_at,
    'finished_at', ended.finished_at,
    'run_seconds', CASE WHEN pg_catalog.isfinite(ended.claimed_at) AND pg_catalog.isfinite(ended.finished_at)
        THEN extract(epoch FROM ended.finished_at - ended.claimed_at)
    END,
    'at', CASE WHEN pg_catalog.isfinite(ended.finished_at) THEN extract(epoch FROM ended.finished_at) END,
    'clock', pg_catalog.to_char(ended.finished_at, 'YYYY-MM-DD HH24:MI:SS'),
    'error', ended.error,
    'cursor', ended.cursor
)
FROM turnstile.recent($1, $2) AS ended
