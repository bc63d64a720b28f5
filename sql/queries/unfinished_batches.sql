-- Those of the batches $1 with live children that do not know of its end, or have another priority than they should.
-- OFFSET 0: one look for each (decision 061).
SELECT batch.id
FROM turnstile.batch
WHERE batch.id = ANY ($1) AND (
    batch.stops IS NOT NULL AND EXISTS (
        SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.cancel_requested_at IS NULL OFFSET 0
    )
    OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority < batch.priority OFFSET 0)
    OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = batch.id AND job.priority > batch.priority OFFSET 0)
)
