-- Moves the runs ($1[i], $2[i]) that are running to history as completed: for each, whether its cancellation was
-- asked for.
-- Locked in order of id, so that two such calls cannot deadlock.
WITH target AS MATERIALIZED (
    SELECT job.id
    FROM (SELECT DISTINCT run.id, run.attempt FROM unnest($1, $2) AS run (id, attempt)) AS run
    JOIN turnstile.job ON job.id = run.id AND job.attempt = run.attempt AND job.state = 'running'
    ORDER BY job.id
    FOR UPDATE OF job
), finished AS (
    DELETE FROM turnstile.job
    USING target
    WHERE job.id = target.id
    RETURNING job.*
)
INSERT INTO turnstile.job_history (
    id, lane, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant, account, session,
    concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
    owner_started_at, claimed_at, cancel_requested_at, progress,
    errors, metadata, unique_until, batch_id, created_at, finished_at
)
SELECT
    id, lane, position, priority, run_at, lease_expires_at, 'completed', holds_session, queue, tenant, account, session,
    concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
    owner_started_at, claimed_at, cancel_requested_at, progress,
    errors, metadata, unique_until, batch_id, created_at, clock_timestamp()
FROM finished
RETURNING job_history.cancel_requested_at IS NOT NULL
