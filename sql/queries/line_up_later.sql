-- Those of the jobs $1, which have come back, that are in a session get in its line when their parent's batch is open: before, they would
-- hold up others, for which the parent may wait.
UPDATE ONLY turnstile.job
SET state = 'blocked'
FROM turnstile.batch
WHERE job.id = ANY ($1) AND job.session IS NOT NULL AND job.state = 'available'
    AND batch.id = job.parent AND batch.opened_at IS NULL
RETURNING job.id
