-- The queue of the run ($1, $2), its worker, its lease and the backend that it was bound to, if it was completed before.
SELECT job_history.queue, job_history.worker, job_history.lease, job_history.owner_pid, job_history.owner_started_at
FROM turnstile.job_history
WHERE job_history.id = $1 AND job_history.attempt = $2 AND job_history.state = 'completed'
LIMIT 1
