-- The first available jobs of lane $1 before position $2.
SELECT job.position
FROM turnstile.job
WHERE job.lane = $1 AND job.state = 'available' AND job.position < $2
ORDER BY job.position
LIMIT 1000
