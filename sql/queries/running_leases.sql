-- Every run, and when its lease ends: (queue, lease_expires_at, id, attempt).
SELECT job.queue, coalesce(job.lease_expires_at, 'infinity'), job.id, job.attempt
FROM ONLY turnstile.job
WHERE job.state = 'running'
