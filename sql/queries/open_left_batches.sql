-- Opens those of the batches $1 whose parent was deleted before its turn: their children wait for nobody any more. (id, whether that was
-- done): others are locked by another transaction.
-- OFFSET 0: one look for each (decision 061).
WITH left_alone AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY ($1) AND batch.opened_at IS NULL AND batch.stops IS NULL
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = batch.id OFFSET 0)
        AND EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = batch.id OFFSET 0)
), locked AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (ARRAY(SELECT left_alone.id FROM left_alone)) AND batch.opened_at IS NULL
    ORDER BY batch.id
    FOR NO KEY UPDATE SKIP LOCKED
), opened AS (
    UPDATE turnstile.batch
    SET opened_at = clock_timestamp()
    FROM locked
    WHERE batch.id = locked.id
)
SELECT left_alone.id, locked.id IS NOT NULL
FROM left_alone
LEFT JOIN locked ON locked.id = left_alone.id
