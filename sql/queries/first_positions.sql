-- The seconds in which jobs that are available began to wait, the last first, and the first and last position of each. A session's
-- job keeps its place, and with it the time that goes with it. A job that began to wait in the future says nothing about others.
SELECT date_trunc('second', waiting.since), min(job.position), max(job.position)
FROM ONLY turnstile.job,
    LATERAL (
        SELECT CASE WHEN job.session IS NULL THEN greatest(job.created_at, job.run_at) ELSE job.created_at END AS since
    ) AS waiting
WHERE job.state = 'available' AND job.waits_for IS NULL AND isfinite(waiting.since) AND waiting.since <= clock_timestamp()
GROUP BY 1
ORDER BY 1 DESC
