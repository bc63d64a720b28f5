-- The next $2 lanes with available jobs behind the lane $1, and where each begins. A loose index scan:
-- one probe a lane, however many jobs it has.
WITH RECURSIVE lane AS (
    (
        SELECT job.lane, job.position, job.queue, job.tenant, job.account, job.session, job.concurrency_key,
            job.unique_key, job.unique_mode, job.priority, job.holds_session, 1 AS number
        FROM ONLY turnstile.job
        WHERE job.state = 'available' AND job.lane > $1
        ORDER BY job.lane, job.position
        LIMIT 1
    )
    UNION ALL
    SELECT next.lane, next.position, next.queue, next.tenant, next.account, next.session, next.concurrency_key,
        next.unique_key, next.unique_mode, next.priority, next.holds_session, lane.number + 1
    FROM lane
    CROSS JOIN LATERAL (
        SELECT job.*
        FROM ONLY turnstile.job
        WHERE job.state = 'available' AND job.lane > lane.lane
        ORDER BY job.lane, job.position
        LIMIT 1
    ) AS next
    WHERE lane.number < $2
)
SELECT lane.queue, lane.tenant, lane.account, CASE WHEN NOT lane.holds_session THEN lane.session END,
    lane.concurrency_key,
    CASE WHEN lane.unique_mode IN ('while_executing', 'until_and_while_executing') THEN lane.unique_key END,
    lane.priority, lane.position
FROM lane
ORDER BY lane.lane
