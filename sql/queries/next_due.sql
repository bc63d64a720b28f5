-- When the next job falls due, and its position: none lies before ($1, $2) in that order.
SELECT job.run_at, job.position
FROM ONLY turnstile.job
WHERE job.state IN ('scheduled', 'retryable') AND (job.run_at, job.position) >= ($1, $2)
ORDER BY job.run_at, job.position
LIMIT 1
