-- When the next job falls due.
SELECT job.run_at
FROM turnstile.job
WHERE job.state IN ('scheduled', 'retryable')
ORDER BY job.run_at
LIMIT 1
