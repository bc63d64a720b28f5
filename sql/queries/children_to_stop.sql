-- Locks up to $2 live children of those of the batches $1 that are stopped, but for those that know it. A child that is a batch itself is
-- left out while others have locked its settings, which are locked for it, too.
WITH child AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.parent = ANY (ARRAY(SELECT batch.id FROM turnstile.batch WHERE batch.id = ANY ($1) AND batch.stops IS NOT NULL))
        AND job.cancel_requested_at IS NULL
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), nested AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (ARRAY(SELECT child.id FROM child))
), locked AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (ARRAY(SELECT nested.id FROM nested))
    ORDER BY batch.id
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT child.id
FROM child
WHERE NOT EXISTS (SELECT FROM nested WHERE nested.id = child.id)
    OR EXISTS (SELECT FROM locked WHERE locked.id = child.id)
