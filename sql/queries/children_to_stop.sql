-- Locks up to $2 live children of those of the batches $1 that are stopped, but for those that know it.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.parent = ANY (ARRAY(SELECT batch.id FROM turnstile.batch WHERE batch.id = ANY ($1) AND batch.stops IS NOT NULL))
    AND job.cancel_requested_at IS NULL
LIMIT $2
FOR UPDATE SKIP LOCKED
