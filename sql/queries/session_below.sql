-- A job below $1 that is in one of the sessions whose gates are $2.
WITH RECURSIVE below AS (
    SELECT job.id, job.queue, job.tenant, job.session
    FROM ONLY turnstile.job
    WHERE job.parent = $1
    UNION
    SELECT child.id, child.queue, child.tenant, child.session
    FROM below
    CROSS JOIN LATERAL (
        SELECT job.id, job.queue, job.tenant, job.session
        FROM ONLY turnstile.job
        WHERE job.parent = below.id
        OFFSET 0
    ) AS child
)
SELECT below.id
FROM below
WHERE below.session IS NOT NULL AND turnstile_internal.session_gate(below.queue, below.tenant, below.session) = ANY ($2)
LIMIT 1
