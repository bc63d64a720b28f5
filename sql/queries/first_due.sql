-- When the first job of each queue that was put off falls due, queue by queue: (queue, run_at).
WITH RECURSIVE first AS (
    (
        SELECT job.queue, job.run_at
        FROM ONLY turnstile.job
        WHERE job.waits_for = 'time'
        ORDER BY job.queue COLLATE "C", job.run_at, job.position
        LIMIT 1
    )
    UNION ALL
    SELECT following.queue, following.run_at
    FROM first, LATERAL (
        SELECT job.queue, job.run_at
        FROM ONLY turnstile.job
        WHERE job.waits_for = 'time' AND job.queue COLLATE "C" > first.queue
        ORDER BY job.queue COLLATE "C", job.run_at, job.position
        LIMIT 1
    ) AS following
)
SELECT first.queue, first.run_at
FROM first
