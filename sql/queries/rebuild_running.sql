-- How many jobs of each lane run.
SELECT job.queue, job.tenant, job.account, job.session, job.concurrency_key, job.unique_key, job.priority, count(*)
FROM turnstile.job_lane AS job
WHERE job.state = 'running'
GROUP BY 1, 2, 3, 4, 5, 6, 7
