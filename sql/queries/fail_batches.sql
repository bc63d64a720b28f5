-- Stops those of the batches $1 (null: of all) of which more children were discarded than max_failed allows.
UPDATE turnstile.batch
SET stops = 'failed'
WHERE ($1 IS NULL OR batch.id = ANY ($1)) AND batch.stops IS NULL AND batch.max_failed < (
    SELECT count(*)
    FROM turnstile.job_history AS failed
    WHERE failed.parent = batch.id AND failed.state = 'discarded'
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = failed.id)
        AND NOT EXISTS (
            SELECT
            FROM turnstile.job_history AS later
            WHERE later.id = failed.id AND later.finished_at > failed.finished_at
        )
)
RETURNING batch.id
