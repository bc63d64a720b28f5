-- The queue and the tenant of job $1; live before finished, the latest finish first.
(SELECT job.queue, job.tenant FROM turnstile.job WHERE job.id = $1)
UNION ALL
(
    SELECT job_history.queue, job_history.tenant
    FROM turnstile.job_history
    WHERE job_history.id = $1
    ORDER BY job_history.finished_at DESC
    LIMIT 1
)
