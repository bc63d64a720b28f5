-- Locks job $1 and those below it that may have children: nobody gives them others, or moves these, before this transaction has ended.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = ANY (ARRAY (
    WITH RECURSIVE below AS (
        SELECT $1 AS id, true AS may_have_children
        UNION
        SELECT child.id, child.may_have_children
        FROM below
        CROSS JOIN LATERAL (
            SELECT
                job.id,
                job.state NOT IN ('available', 'scheduled') OR job.attempt > 0 OR job.opens_batch IS TRUE OR job.children IS NOT NULL
                    AS may_have_children
            FROM ONLY turnstile.job
            WHERE job.parent = below.id
            OFFSET 0
        ) AS child
        WHERE below.may_have_children
    )
    SELECT below.id FROM below WHERE below.may_have_children
))
ORDER BY job.id
FOR UPDATE
