-- How many jobs of each lane run.
SELECT job.queue, job.tenant, job.account, CASE WHEN NOT job.holds_session THEN job.session END,
    job.concurrency_key, job.priority, count(*)
FROM turnstile.job
WHERE job.state = 'running'
GROUP BY 1, 2, 3, 4, 5, 6
