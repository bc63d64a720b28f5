-- Each lane with available jobs, and where it begins.
SELECT job.names, job.priority, min(job.position)
FROM turnstile.job_lane AS job
WHERE job.state = 'available'
GROUP BY job.names, job.priority
