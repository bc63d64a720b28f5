-- When the next lease of the queue $1 after $2 ends, if that is by $3.
SELECT job.lease_expires_at
FROM ONLY turnstile.job
WHERE job.queue COLLATE "C" = $1 AND job.state = 'running' AND job.lease_expires_at > $2 AND job.lease_expires_at <= $3
ORDER BY job.lease_expires_at
LIMIT 1
