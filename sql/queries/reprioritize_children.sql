-- Gives up to $2 children of the batches $1 that have another one, and are not locked, the priority of their batch: whether it has
-- stayed so.
WITH other AS MATERIALIZED (
    SELECT child.id, batch.priority
    FROM turnstile.batch
    CROSS JOIN LATERAL (
        (SELECT job.id FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority < batch.priority LIMIT $2)
        UNION ALL
        (SELECT job.id FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority > batch.priority LIMIT $2)
    ) AS child
    WHERE batch.id = ANY ($1)
    LIMIT $2
), locked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT other.id FROM other))
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE ONLY turnstile.job
SET priority = other.priority
FROM other
JOIN locked ON locked.id = other.id
WHERE job.id = other.id
RETURNING job.priority = other.priority
