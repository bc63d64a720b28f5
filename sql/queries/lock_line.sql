-- Keeps job $1 and those that wait for it where they are, and from ending, before this transaction has.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = ANY (ARRAY (
    WITH RECURSIVE line AS (
        SELECT job.id, job.parent, 1 AS depth
        FROM ONLY turnstile.job
        WHERE job.id = $1
        UNION ALL
        SELECT job.id, job.parent, line.depth + 1
        FROM line
        JOIN ONLY turnstile.job ON job.id = line.parent
        WHERE line.depth < 100
    )
    SELECT line.id FROM line
))
ORDER BY job.id
FOR KEY SHARE
