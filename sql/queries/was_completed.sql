-- The queue of the run ($1, $2), if it was completed before.
SELECT job_history.queue
FROM turnstile.job_history
WHERE job_history.id = $1 AND job_history.attempt = $2 AND job_history.state = 'completed'
LIMIT 1
