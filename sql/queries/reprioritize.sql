-- Gives job $1 the priority $2, if it has another: whether that was done, which a trigger may have kept.
WITH target AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = $1 AND job.priority <> $2
    FOR NO KEY UPDATE
), changed AS (
    UPDATE ONLY turnstile.job
    SET priority = $2
    FROM target
    WHERE job.id = target.id
    RETURNING job.id
)
SELECT changed.id IS NOT NULL
FROM target
LEFT JOIN changed ON changed.id = target.id
