-- Where lane $2 of group $1 goes on from position $3: the first $5 available jobs, locked or not.
-- $4: positions that this transaction made available itself; its commit tells of them.
SELECT job.position
FROM ONLY turnstile.job
WHERE job.lane_group = $1 AND job.lane = $2 AND job.position >= $3 AND job.state = 'available' AND job.waits_for IS NULL
    AND NOT job.position = ANY ($4)
ORDER BY job.position
LIMIT $5
