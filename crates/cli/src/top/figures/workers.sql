-- $1: a part of the name or of the queue, $2: how many rows at most, the one seen last first.
SELECT pg_catalog.jsonb_build_object(
    'worker', workers.worker,
    'queue', workers.queue,
    'first_seen', workers.first_seen,
    'last_seen', workers.last_seen,
    'first_seen_seconds_ago', extract(epoch FROM pg_catalog.statement_timestamp() - workers.first_seen),
    'last_seen_seconds_ago', extract(epoch FROM pg_catalog.statement_timestamp() - workers.last_seen),
    'claims', workers.claims,
    'jobs', workers.jobs
)
FROM turnstile.workers
WHERE pg_catalog.strpos(pg_catalog.lower(pg_catalog.concat_ws(' ', workers.worker, workers.queue)), pg_catalog.lower($1)) > 0
ORDER BY workers.last_seen DESC
LIMIT $2
