-- The run ($1, $2) steps aside until its children have ended, if any is live. A trigger that keeps it leaves it running.
UPDATE ONLY turnstile.job
SET state = 'blocked',
    uncounted = job.uncounted + 1,
    holds_session = job.session IS NOT NULL,
    worker = NULL,
    owner_pid = NULL,
    owner_started_at = NULL,
    claimed_at = NULL,
    lease_expires_at = NULL,
    lease = NULL,
    first_started_at = coalesce(job.first_started_at, CASE WHEN job.attempt = 1 THEN job.claimed_at END),
    waited = turnstile_internal.add_wait(job.waited, job.run_at, job.claimed_at),
    progress = NULL,
    children = NULL
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
    AND EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = $1)
RETURNING job.id
