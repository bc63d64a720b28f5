-- A finished job that was brought back is there as both: the live one counts. Nothing is seen unless the role is $2.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        my_jobs.id, my_jobs.kind, my_jobs.state, my_jobs.queue, my_jobs.tenant, my_jobs.account, my_jobs.session,
        my_jobs.concurrency_key, my_jobs.unique_key, my_jobs.priority, my_jobs.attempt, my_jobs.max_attempts,
        my_jobs.payload, my_jobs.metadata, my_jobs.result, my_jobs.progress, my_jobs.errors, my_jobs.worker,
        my_jobs.parent, my_jobs.created_at, my_jobs.run_at, my_jobs.started_at, my_jobs.lease_expires_at,
        my_jobs.cancel_requested_at, my_jobs.finished_at
    FROM turnstile.my_jobs
    WHERE my_jobs.id = $1 AND CURRENT_USER = $2
    ORDER BY my_jobs.finished_at DESC NULLS FIRST
    LIMIT 1
) AS found
