-- Those of the jobs $1, which have come back, that are in a session get in its line when their parent's batch is open: before, they would
-- hold up others, for which the parent may wait.
UPDATE ONLY turnstile.job
SET state = 'blocked'
WHERE job.id = ANY ($1) AND job.session IS NOT NULL AND job.state = 'available'
    -- OFFSET 0: one look for each. The planner would rather read all batches.
    AND EXISTS (SELECT FROM turnstile.batch WHERE batch.id = job.parent AND batch.opened_at IS NULL OFFSET 0)
RETURNING job.id
