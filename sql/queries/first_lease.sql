-- When the first lease ends.
SELECT job.lease_expires_at
FROM ONLY turnstile.job
WHERE job.state = 'running' AND job.lease_expires_at IS NOT NULL
ORDER BY job.lease_expires_at
LIMIT 1
