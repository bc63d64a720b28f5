-- Gives the run ($1, $2) back, unless its cancellation was asked for. A session's job keeps its place; others take a fresh position, so that
-- the head of their lane need not go back over dead rows.
UPDATE ONLY turnstile.job
SET state = 'available',
    uncounted = job.uncounted + 1,
    -- It waits anew.
    run_at = clock_timestamp(),
    position = CASE WHEN job.session IS NULL THEN nextval('turnstile.job_position_seq') ELSE job.position END,
    worker = NULL,
    owner_pid = NULL,
    owner_started_at = NULL,
    claimed_at = NULL,
    lease_expires_at = NULL,
    lease = NULL,
    first_started_at = coalesce(job.first_started_at, CASE WHEN job.attempt = 1 THEN job.claimed_at END),
    waited = turnstile_internal.add_wait(job.waited, job.run_at, job.claimed_at),
    progress = NULL
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running' AND job.cancel_requested_at IS NULL
RETURNING job.id
