-- Where job $1 is now: (state, attempt); live before finished, the latest finish first.
(SELECT job.state, job.attempt FROM ONLY turnstile.job WHERE job.id = $1)
UNION ALL
(
    SELECT job_history.state, job_history.attempt
    FROM turnstile.job_history
    WHERE job_history.id = $1
    ORDER BY job_history.finished_at DESC
    LIMIT 1
)
