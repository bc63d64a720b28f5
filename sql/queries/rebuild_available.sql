-- Each lane with available jobs, and where it begins.
SELECT job.queue, job.tenant, job.account, job.session, job.concurrency_key, job.unique_key, job.priority, min(job.position)
FROM turnstile.job_lane AS job
WHERE job.state = 'available'
GROUP BY 1, 2, 3, 4, 5, 6, 7
