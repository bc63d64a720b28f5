-- Each lane with available jobs, and where it begins.
SELECT job.queue, job.tenant, job.account, CASE WHEN NOT job.holds_session THEN job.session END,
    job.concurrency_key,
    CASE WHEN job.unique_mode IN ('while_executing', 'until_and_while_executing') THEN job.unique_key END,
    job.priority, min(job.position)
FROM ONLY turnstile.job
WHERE job.state = 'available'
GROUP BY 1, 2, 3, 4, 5, 6, 7
