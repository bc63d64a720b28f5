-- Moves the run ($1, $2) to history in state $3 with result $4: (queue, whether its cancellation was asked for).
-- No row if it is not running.
WITH finished AS (
    DELETE FROM turnstile.job
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
    RETURNING job.*
)
INSERT INTO turnstile.job_history (
    id, lane, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant, account, session,
    concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
    owner_started_at, claimed_at, cancel_requested_at, progress,
    errors, metadata, unique_until, batch_id, created_at, finished_at, result
)
SELECT
    id, lane, position, priority, run_at, lease_expires_at, $3, holds_session, queue, tenant, account, session,
    concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
    owner_started_at, claimed_at, cancel_requested_at, progress,
    errors, metadata, unique_until, batch_id, created_at, clock_timestamp(), $4
FROM finished
RETURNING job_history.queue, job_history.cancel_requested_at IS NOT NULL
