-- Brings those of the finished jobs $1 back that are not live, as their last end has left them, but with all attempts
-- before them: attempt never goes back, and none made so far counts. Their history must be locked.
WITH last AS MATERIALIZED (
    SELECT DISTINCT ON (job_history.id) job_history.*
    FROM turnstile.job_history
    WHERE job_history.id = ANY ($1)
    ORDER BY job_history.id, job_history.finished_at DESC
)
INSERT INTO turnstile.job (
    id, priority, queue, tenant, account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts,
    uncounted, payload, errors, metadata, unique_until, batch_id, created_at
)
SELECT
    last.id, last.priority, last.queue, last.tenant, last.account, last.session, last.concurrency_key, last.unique_key,
    last.unique_mode, last.kind, last.attempt, last.max_attempts,
    last.attempt, last.payload, last.errors, last.metadata, last.unique_until, last.batch_id, last.created_at
FROM last
WHERE NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = last.id)
ORDER BY last.id
ON CONFLICT (id) DO NOTHING
RETURNING job.id
