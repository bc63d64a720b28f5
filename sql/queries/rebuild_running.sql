-- How many jobs of each lane run.
SELECT job.names, job.priority, count(*)
FROM turnstile.job_lane AS job
WHERE job.state = 'running'
GROUP BY job.names, job.priority
