-- Locks the history of job $1: no other transaction can bring the job back until this one ends.
SELECT job_history.id
FROM turnstile.job_history
WHERE job_history.id = $1
ORDER BY job_history.finished_at
FOR UPDATE
