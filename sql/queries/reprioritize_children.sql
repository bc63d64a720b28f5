-- Gives up to $2 children of the batches $1 that have another priority than their batch that of the batch: (batch, whether it has stayed
-- so). Those that others have locked do not count: transactions that do the same at a time take different children.
-- Batch by batch: the planner would rather read the children of all.
WITH below AS MATERIALIZED (
    SELECT child.id, batch.priority
    FROM turnstile.batch
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM ONLY turnstile.job
        WHERE job.parent = batch.id AND job.priority < batch.priority
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS child
    WHERE batch.id = ANY ($1)
    LIMIT $2
), above AS MATERIALIZED (
    SELECT child.id, batch.priority
    FROM turnstile.batch
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM ONLY turnstile.job
        WHERE job.parent = batch.id AND job.priority > batch.priority
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS child
    WHERE batch.id = ANY ($1)
    LIMIT $2 - (SELECT count(*) FROM below)
), other AS MATERIALIZED (
    SELECT below.id, below.priority FROM below
    UNION ALL
    SELECT above.id, above.priority FROM above
)
UPDATE ONLY turnstile.job
SET priority = other.priority
FROM other
WHERE job.id = other.id AND job.id = ANY (ARRAY(SELECT other.id FROM other))
RETURNING job.parent, job.priority = other.priority
