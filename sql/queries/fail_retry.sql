-- Puts the run ($1, $2) off with error $3, unless no attempts are left. $4: wait, or null for the backoff:
-- n^4 times retry_base after counted attempt n, plus up to 10 %, at most retry_cap.
UPDATE turnstile.job
SET state = 'retryable',
    run_at = clock_timestamp() + coalesce(
        $4,
        least(
            least(power(job.attempt - job.uncounted, 4), 1e9) * setting.retry_base * (1 + random() * 0.1),
            setting.retry_cap
        )
    ),
    holds_session = job.session IS NOT NULL AND setting.session_on_retry = 'hold',
    worker = NULL,
    claimed_at = NULL,
    lease_expires_at = NULL,
    progress = NULL,
    errors = coalesce(job.errors, '[]') || jsonb_build_object(
        'attempt', job.attempt, 'at', clock_timestamp(), 'worker', job.worker, 'error', $3
    )
FROM (
    SELECT (queue.name = '*')::int AS preference, queue.retry_base, queue.retry_cap, queue.session_on_retry
    FROM turnstile.queue
    WHERE queue.name IN ((SELECT job.queue FROM turnstile.job WHERE job.id = $1), '*')
    UNION ALL
    SELECT 2, interval '1 second', interval '1 day', 'hold'
    ORDER BY preference
    LIMIT 1
) AS setting
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running' AND job.attempt - job.uncounted < job.max_attempts
RETURNING job.state
