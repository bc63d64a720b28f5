-- The next $4 lanes with available jobs behind lane $2 of group $1, of groups up to $3, and where each begins. A loose
-- index scan: one probe a lane, however many jobs it has. CASE: the planner would take two conditions for rarer than one, and sort.
WITH RECURSIVE lane AS (
    (
        SELECT job.*, 1 AS number
        FROM turnstile.job_lane AS job
        WHERE job.waits_for IS NULL AND CASE WHEN job.state = 'available' THEN true END AND (job.lane_group, job.lane) > ($1, $2) AND job.lane_group <= $3
        ORDER BY job.lane_group, job.lane, job.position
        LIMIT 1
    )
    UNION ALL
    SELECT next.*, lane.number + 1
    FROM lane
    CROSS JOIN LATERAL (
        SELECT job.*
        FROM turnstile.job_lane AS job
        WHERE job.waits_for IS NULL AND CASE WHEN job.state = 'available' THEN true END AND (job.lane_group, job.lane) > (lane.lane_group, lane.lane)
            AND job.lane_group <= $3
        ORDER BY job.lane_group, job.lane, job.position
        LIMIT 1
    ) AS next
    WHERE lane.number < $4
)
SELECT lane.names, lane.priority, lane.position
FROM lane
ORDER BY lane.lane_group, lane.lane
