-- The next $2 lanes with available jobs behind the lane $1, and where each begins. A loose index scan:
-- one probe a lane, however many jobs it has.
WITH RECURSIVE lane AS (
    (
        SELECT job.*, 1 AS number
        FROM turnstile.job_lane AS job
        WHERE job.state = 'available' AND job.lane > $1
        ORDER BY job.lane, job.position
        LIMIT 1
    )
    UNION ALL
    SELECT next.*, lane.number + 1
    FROM lane
    CROSS JOIN LATERAL (
        SELECT job.*
        FROM turnstile.job_lane AS job
        WHERE job.state = 'available' AND job.lane > lane.lane
        ORDER BY job.lane, job.position
        LIMIT 1
    ) AS next
    WHERE lane.number < $2
)
SELECT lane.queue, lane.tenant, lane.account, lane.session, lane.concurrency_key, lane.unique_key, lane.priority, lane.position
FROM lane
ORDER BY lane.lane
