-- Puts the run ($1, $2) off for $3, unless its cancellation was asked for. It holds its session no more.
UPDATE ONLY turnstile.job
SET state = 'scheduled',
    run_at = clock_timestamp() + $3,
    uncounted = job.uncounted + 1,
    holds_session = false,
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
