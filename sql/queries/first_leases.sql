-- When the first lease of each queue ends, queue by queue: (queue, lease_expires_at).
WITH RECURSIVE first AS (
    (
        SELECT job.queue, job.lease_expires_at
        FROM ONLY turnstile.job
        WHERE job.state = 'running' AND job.lease_expires_at IS NOT NULL
        ORDER BY job.queue COLLATE "C", job.lease_expires_at
        LIMIT 1
    )
    UNION ALL
    SELECT following.queue, following.lease_expires_at
    FROM first, LATERAL (
        SELECT job.queue, job.lease_expires_at
        FROM ONLY turnstile.job
        WHERE job.state = 'running' AND job.lease_expires_at IS NOT NULL AND job.queue COLLATE "C" > first.queue
        ORDER BY job.queue COLLATE "C", job.lease_expires_at
        LIMIT 1
    ) AS following
)
SELECT first.queue, first.lease_expires_at
FROM first
