-- Ends those of the jobs $1 that wait in the state $2, cancelled or discarded, with error $3 if there is one; of
-- those that run, asks for the cancellation, if that is the state: (id, state before). Locked in order of id.
WITH target AS MATERIALIZED (
    SELECT job.id, job.state
    FROM turnstile.job
    WHERE job.id = ANY ($1)
    ORDER BY job.id
    FOR UPDATE
), asked AS (
    UPDATE turnstile.job
    SET cancel_requested_at = clock_timestamp()
    FROM target
    WHERE job.id = target.id AND target.state = 'running' AND $2 = 'cancelled' AND job.cancel_requested_at IS NULL
), ended AS (
    DELETE FROM turnstile.job
    USING target
    WHERE job.id = target.id AND target.state <> 'running'
    RETURNING job.*
), kept AS (
    INSERT INTO turnstile.job_history (
        id, lane, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant, account, session,
        concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
        owner_started_at, claimed_at, cancel_requested_at, progress,
        errors, metadata, unique_until, batch_id, created_at, finished_at
    )
    SELECT
        id, lane, position, priority, run_at, lease_expires_at, $2, holds_session, queue, tenant, account, session,
        concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted, payload, worker, owner_pid,
        owner_started_at, claimed_at,
        CASE WHEN $2 = 'cancelled' THEN clock_timestamp() ELSE cancel_requested_at END,
        progress,
        CASE
            WHEN $3 IS NULL THEN errors
            ELSE CASE WHEN jsonb_typeof(errors) = 'array' THEN errors ELSE '[]' END || jsonb_build_object(
                'attempt', attempt, 'at', clock_timestamp(), 'worker', NULL, 'error',
                CASE
                    WHEN length($3) > 4000 THEN left($3, 4000) || ' [cut: ' || length($3) || ' characters]'
                    ELSE $3
                END
            )
        END,
        metadata, unique_until, batch_id, created_at, clock_timestamp()
    FROM ended
)
SELECT target.id, target.state FROM target
