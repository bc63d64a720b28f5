-- Moves the run ($1, $2) to history in state $3 with result $4; a discarded one with error $5. No row if it
-- is not running.
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
    CASE WHEN $3 = 'discarded'
        THEN coalesce(errors, '[]') || jsonb_build_object(
            'attempt', attempt, 'at', clock_timestamp(), 'worker', worker, 'error', $5
        )
        ELSE errors
    END,
    metadata, unique_until, batch_id, created_at, clock_timestamp(), $4
FROM finished
RETURNING job_history.queue
