-- Takes up to $4 jobs of lane $1, by position from $2 on and before $3, for worker $5 under lease $6.
-- $7: positions that this transaction made available itself; they are not committed, so not eligible.
-- MATERIALIZED fences: a join must not run the SKIP LOCKED scan twice.
WITH target AS MATERIALIZED (
    SELECT job.id
    FROM turnstile.job
    WHERE job.lane = $1 AND job.position >= $2 AND job.position < $3 AND job.state = 'available'
        AND NOT job.position = ANY ($7)
    ORDER BY job.position
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE turnstile.job
SET state = 'running',
    attempt = job.attempt + 1,
    worker = $5,
    claimed_at = clock_timestamp(),
    lease_expires_at = clock_timestamp() + coalesce(
        $6,
        (SELECT queue.lease FROM turnstile.queue WHERE queue.name = job.queue),
        (SELECT queue.lease FROM turnstile.queue WHERE queue.name = '*'),
        interval '5 minutes'
    )
FROM target
WHERE job.id = target.id
RETURNING job.id, job.attempt, job.queue, job.kind, job.payload, job.priority, job.tenant, job.account, job.session,
    job.max_attempts + job.uncounted, job.lease_expires_at, job.created_at, job.metadata, job.position
