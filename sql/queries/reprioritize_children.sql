-- Gives up to $2 children of the batches $1 that have another priority than their batch that of the batch: (batch, whether it has stayed
-- so). Those that others have locked do not count: transactions that do the same at a time take different children.
WITH below AS MATERIALIZED (
    SELECT job.id, batch.priority
    FROM turnstile.batch
    JOIN ONLY turnstile.job ON job.parent = batch.id AND job.priority < batch.priority
    WHERE batch.id = ANY ($1)
    LIMIT $2
    FOR NO KEY UPDATE OF job SKIP LOCKED
), above AS MATERIALIZED (
    SELECT job.id, batch.priority
    FROM turnstile.batch
    JOIN ONLY turnstile.job ON job.parent = batch.id AND job.priority > batch.priority
    WHERE batch.id = ANY ($1)
    LIMIT $2 - (SELECT count(*) FROM below)
    FOR NO KEY UPDATE OF job SKIP LOCKED
), other AS MATERIALIZED (
    SELECT below.id, below.priority FROM below
    UNION ALL
    SELECT above.id, above.priority FROM above
)
UPDATE ONLY turnstile.job
SET priority = other.priority
FROM other
WHERE job.id = other.id
RETURNING job.parent, job.priority = other.priority
