-- Locks the history of job $1: it can be brought back by nobody else until this transaction ends.
SELECT job_history.id
FROM turnstile.job_history
WHERE job_history.id = $1
ORDER BY job_history.finished_at
FOR UPDATE
