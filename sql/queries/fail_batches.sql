-- Stops those of the batches $1 (null: of all) of which more children were discarded than max_failed allows: (id, whether that was
-- done). Others are locked by another transaction.
WITH failing AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (coalesce($1, ARRAY(SELECT batch.id FROM turnstile.batch WHERE batch.max_failed IS NOT NULL)))
        AND batch.stops IS NULL AND batch.max_failed IS NOT NULL
        AND EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = batch.id OFFSET 0)
        -- The index tells of most batches that they have not failed. Those that were brought back since are counted out where it may be so.
        AND CASE
            WHEN batch.max_failed < (
                SELECT count(*) FROM turnstile.job_history AS failed WHERE failed.parent = batch.id AND failed.state = 'discarded'
            )
            THEN batch.max_failed < (
                SELECT count(*)
                FROM turnstile.job_history AS failed
                WHERE failed.parent = batch.id AND failed.state = 'discarded'
                    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = failed.id OFFSET 0)
                    AND NOT EXISTS (
                        SELECT
                        FROM turnstile.job_history AS later
                        WHERE later.id = failed.id AND later.finished_at > failed.finished_at
                    )
            )
            ELSE false
        END
), locked AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (ARRAY(SELECT failing.id FROM failing)) AND batch.stops IS NULL
    ORDER BY batch.id
    FOR NO KEY UPDATE SKIP LOCKED
), stopped AS (
    UPDATE turnstile.batch
    SET stops = 'failed'
    FROM locked
    WHERE batch.id = locked.id
)
SELECT failing.id, locked.id IS NOT NULL
FROM failing
LEFT JOIN locked ON locked.id = failing.id
