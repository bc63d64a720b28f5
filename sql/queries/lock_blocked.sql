-- Those of the jobs $1 that are blocked: (id, whether this transaction has locked it now).
WITH blocked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($1) AND job.state = 'blocked'
), locked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT blocked.id FROM blocked)) AND job.state = 'blocked'
    ORDER BY job.id
    FOR UPDATE SKIP LOCKED
)
SELECT blocked.id, locked.id IS NOT NULL
FROM blocked
LEFT JOIN locked ON locked.id = blocked.id
