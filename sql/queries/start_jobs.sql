-- Sets the jobs $1, which are locked, running for worker $2, bound to the backend $3 that began at $4, claimed at $5, until $6, with
-- the lease $7 that was asked for. Of each, as many attempts are skipped as $8 says, and it knows the claim epoch $9 from now on.
-- The columns of claimed_job, the position, and whether its children are to be counted anew, in order of the position.
WITH started AS (
    UPDATE ONLY turnstile.job
    SET state = 'running',
        attempt = job.attempt + claim.skipped + 1,
        uncounted = job.uncounted + claim.skipped,
        first_started_at = CASE WHEN claim.skipped > 0 AND job.attempt = 0 THEN $5 ELSE job.first_started_at END,
        claim_epoch = $9,
        worker = $2,
        owner_pid = $3,
        owner_started_at = $4,
        claimed_at = $5,
        lease_expires_at = $6,
        lease = $7
    FROM unnest($1, $8) AS claim (id, skipped)
    WHERE job.id = claim.id AND job.state = 'available'
    RETURNING job.id, job.attempt, job.queue, job.kind, job.payload, job.priority, job.tenant, job.account, job.session,
        least(job.max_attempts::bigint + job.uncounted, 2147483647)::int AS max_attempts, job.lease_expires_at,
        job.created_at, job.metadata, job.children,
        greatest(job.max_attempts::bigint + job.uncounted - job.attempt, 0)::int AS attempts_left,
        CASE WHEN job.attempt = 1 THEN job.claimed_at ELSE job.first_started_at END AS first_started_at, job.position
)
SELECT
    started.id, started.attempt, started.queue, started.kind, started.payload, started.priority, started.tenant,
    started.account, started.session, started.max_attempts, started.lease_expires_at, started.created_at,
    started.metadata, started.children, started.attempts_left, started.first_started_at, started.position, started.children = '{}'
FROM started
ORDER BY started.position
