-- Each lane with available jobs, and where it begins.
SELECT job.queue, job.tenant, job.account, CASE WHEN NOT job.holds_session THEN job.session END,
    job.concurrency_key, job.priority, min(job.position)
FROM turnstile.job
WHERE job.state = 'available'
GROUP BY 1, 2, 3, 4, 5, 6
