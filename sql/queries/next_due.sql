-- When the next job of the queue $1 falls due, and its position: none lies before ($2, $3) in that order.
SELECT job.run_at, job.position
FROM ONLY turnstile.job
WHERE job.queue COLLATE "C" = $1 AND job.waits_for = 'time' AND (job.run_at, job.position) >= ($2, $3)
ORDER BY job.run_at, job.position
LIMIT 1
