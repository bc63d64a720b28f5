-- Of the runs ($1[i], $2[i]) those that go on, the one whose lease ends first before others: (id, attempt, queue, lease_expires_at, whether
-- the lease ended by $3 and this transaction has locked the job now).
WITH given AS MATERIALIZED (
    SELECT given.id, given.attempt
    FROM unnest($1, $2) AS given (id, attempt)
), run AS MATERIALIZED (
    SELECT job.id, job.attempt, job.queue, job.lease_expires_at
    FROM ONLY turnstile.job
    WHERE job.state = 'running'
        AND EXISTS (SELECT FROM given WHERE given.id = job.id AND given.attempt = job.attempt)
        AND job.id = ANY ($1)
), locked AS MATERIALIZED (
    SELECT job.id, job.attempt
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY (SELECT run.id FROM run WHERE run.lease_expires_at <= $3))
        AND job.state = 'running' AND job.lease_expires_at <= $3
    FOR UPDATE SKIP LOCKED
)
SELECT run.id, run.attempt, run.queue, run.lease_expires_at, locked.id IS NOT NULL
FROM run
LEFT JOIN locked ON locked.id = run.id AND locked.attempt = run.attempt
ORDER BY run.lease_expires_at
