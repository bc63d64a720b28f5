-- Gives job $1 the priority $2, if it has another.
UPDATE ONLY turnstile.job
SET priority = $2
WHERE job.id = $1 AND job.priority <> $2
RETURNING job.id
