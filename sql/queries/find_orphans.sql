-- Up to $1 runs that are bound to the backends ($2[i], $3[i]): (id, attempt, owner_pid, owner_started_at, whether
-- this transaction has locked it now). It locks $4 at most, of the queues with the gates $5, if given.
WITH orphan AS MATERIALIZED (
    SELECT job.id, job.attempt, job.owner_pid, job.owner_started_at, job.queue
    FROM (SELECT DISTINCT * FROM unnest($2, $3)) AS gone (pid, started_at)
    JOIN ONLY turnstile.job
        ON job.owner_pid = gone.pid AND job.owner_started_at = gone.started_at AND job.state = 'running'
    LIMIT $1
), locked AS MATERIALIZED (
    SELECT job.id, job.attempt
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY (
            SELECT orphan.id
            FROM orphan
            WHERE $5 IS NULL OR turnstile_internal.gate_key('queue', NULL, orphan.queue) = ANY ($5)
        ))
        AND job.state = 'running'
    LIMIT $4
    FOR UPDATE SKIP LOCKED
)
SELECT orphan.id, orphan.attempt, orphan.owner_pid, orphan.owner_started_at, locked.id IS NOT NULL
FROM orphan
LEFT JOIN locked ON locked.id = orphan.id AND locked.attempt = orphan.attempt
