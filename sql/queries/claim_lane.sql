-- Takes up to $4 jobs of lane $1, by position from $2 on and before $3, for worker $5 under lease $6.
-- $7: positions that this transaction made available itself; they are not committed, so not eligible.
--
-- "visible" looks a few rows further than it may take, without locks, so that the scheduler learns where
-- the lane goes on. MATERIALIZED fences: a join must not run the SKIP LOCKED scan twice. Always one row or
-- more: columns 3 and on are null where nothing was taken.
WITH visible AS MATERIALIZED (
    SELECT job.position
    FROM turnstile.job
    WHERE job.lane = $1 AND job.position >= $2 AND job.state = 'available'
        AND NOT job.position = ANY ($7)
    ORDER BY job.position
    LIMIT $4 + 4
), target AS MATERIALIZED (
    SELECT job.id, job.position
    FROM turnstile.job
    WHERE job.lane = $1 AND job.position >= $2 AND job.position < $3 AND job.state = 'available'
        AND NOT job.position = ANY ($7)
    ORDER BY job.position
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
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
    RETURNING job.position, job.id, job.attempt, job.queue, job.kind, job.payload, job.priority, job.tenant,
        job.account, job.session, job.max_attempts, job.lease_expires_at, job.created_at, job.metadata
), ahead AS (
    SELECT
        coalesce(array_agg(visible.position ORDER BY visible.position)
            FILTER (WHERE target.position IS NULL), '{}') AS positions,
        count(*) < $4 + 4 AS is_all
    FROM visible LEFT JOIN target ON target.position = visible.position
)
SELECT ahead.positions, ahead.is_all, claimed.*
FROM ahead LEFT JOIN claimed ON true
ORDER BY claimed.position
