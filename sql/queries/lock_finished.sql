-- Locks the history of the jobs $1: no other transaction can bring them back until this one ends.
SELECT job_history.id
FROM turnstile.job_history
WHERE job_history.id = ANY ($1)
ORDER BY job_history.id, job_history.finished_at
FOR UPDATE
