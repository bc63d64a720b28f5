-- Up to $1 runs of the queue $2 whose lease ended between $3 and $4, and those of the jobs $5 whose lease ended before $4,
-- earliest first: (id, attempt, lease_expires_at, whether this transaction has locked it now). It locks $1 at most.
WITH expired AS MATERIALIZED (
    (
        SELECT job.id, job.attempt, job.lease_expires_at
        FROM ONLY turnstile.job
        WHERE job.queue COLLATE "C" = $2 AND job.state = 'running'
            AND job.lease_expires_at >= $3 AND job.lease_expires_at <= $4
        ORDER BY job.lease_expires_at
        LIMIT $1
    )
    UNION
    SELECT job.id, job.attempt, job.lease_expires_at
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($5) AND job.queue COLLATE "C" = $2 AND job.state = 'running' AND job.lease_expires_at <= $4
), locked AS MATERIALIZED (
    SELECT job.id, job.attempt
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY (SELECT expired.id FROM expired))
        AND job.queue COLLATE "C" = $2 AND job.state = 'running' AND job.lease_expires_at <= $4
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
SELECT expired.id, expired.attempt, expired.lease_expires_at, locked.id IS NOT NULL
FROM expired
LEFT JOIN locked ON locked.id = expired.id AND locked.attempt = expired.attempt
ORDER BY expired.lease_expires_at
