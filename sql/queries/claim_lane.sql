-- Takes up to $4 jobs of lane $1, by position from $2 on and before $3, for worker $5 under lease $6.
-- $7: positions that this transaction made available itself; they are not committed, so not eligible.
-- $8, $9: process and start time of the backend that the runs are bound to, or null.
-- $10: the time of the pick if a rate counts starts, so that windows of claimed_at are exact.
-- ARRAY () fences: it runs once, where a join might run the SKIP LOCKED scan again.
UPDATE turnstile.job
SET state = 'running',
    attempt = job.attempt + 1,
    worker = $5,
    owner_pid = $8,
    owner_started_at = $9,
    claimed_at = coalesce($10, clock_timestamp()),
    lease_expires_at = clock_timestamp() + $6
WHERE job.ctid = ANY (ARRAY (
    SELECT next.ctid
    FROM turnstile.job AS next
    WHERE next.lane = $1 AND next.position >= $2 AND next.position < $3 AND next.state = 'available'
        AND NOT next.position = ANY ($7)
    ORDER BY next.position
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING job.id, job.attempt, job.queue, job.kind, job.payload, job.priority, job.tenant, job.account, job.session,
    least(job.max_attempts::bigint + job.uncounted, 2147483647)::int, job.lease_expires_at, job.created_at,
    job.metadata, job.position
