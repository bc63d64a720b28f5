-- How many jobs of lane $2 of group $1 are available from position $3 on and before $4; at most $5.
SELECT count(*)
FROM (
    SELECT
    FROM ONLY turnstile.job
    WHERE job.lane_group = $1 AND job.lane = $2 AND job.position >= $3 AND job.position < $4 AND job.state = 'available' AND job.waits_for IS NULL
    LIMIT $5
) AS counted
