-- When the next lease after $1 ends, if that is by $2.
SELECT job.lease_expires_at
FROM ONLY turnstile.job
WHERE job.state = 'running' AND job.lease_expires_at > $1 AND job.lease_expires_at <= $2
ORDER BY job.lease_expires_at
LIMIT 1
