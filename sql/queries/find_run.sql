-- Where job $1 is now: (state, attempt, whether its cancellation was asked for); live before finished, the latest finish first.
(SELECT job.state, job.attempt, job.cancel_requested_at IS NOT NULL FROM ONLY turnstile.job WHERE job.id = $1)
UNION ALL
(
    SELECT job_history.state, job_history.attempt, job_history.cancel_requested_at IS NOT NULL
    FROM turnstile.job_history
    WHERE job_history.id = $1
    ORDER BY job_history.finished_at DESC
    LIMIT 1
)
