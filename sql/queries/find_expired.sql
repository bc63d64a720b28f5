-- Up to $1 runs whose lease ended between $2 and $3, and those of the jobs $4 whose lease ended before $3, earliest
-- first: (id, attempt, lease_expires_at, whether this transaction has locked it now). It locks $5 at most, of the
-- queues with the gates $6, if given.
WITH expired AS MATERIALIZED (
    (
        SELECT job.id, job.attempt, job.lease_expires_at, job.queue
        FROM ONLY turnstile.job
        WHERE job.state = 'running' AND job.lease_expires_at >= $2 AND job.lease_expires_at <= $3
        ORDER BY job.lease_expires_at
        LIMIT $1
    )
    UNION
    SELECT job.id, job.attempt, job.lease_expires_at, job.queue
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($4) AND job.state = 'running' AND job.lease_expires_at <= $3
), locked AS MATERIALIZED (
    SELECT job.id, job.attempt
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY (
            SELECT expired.id
            FROM expired
            WHERE $6 IS NULL OR turnstile.gate_key('queue', NULL, expired.queue) = ANY ($6)
        ))
        AND job.state = 'running' AND job.lease_expires_at <= $3
    LIMIT $5
    FOR UPDATE SKIP LOCKED
)
SELECT expired.id, expired.attempt, expired.lease_expires_at, locked.id IS NOT NULL
FROM expired
LEFT JOIN locked ON locked.id = expired.id AND locked.attempt = expired.attempt
ORDER BY expired.lease_expires_at
