-- Where lane $1 goes on from position $2: the first $4 available jobs, locked or not.
-- $3: positions that this transaction made available itself; its commit tells of them.
SELECT job.position
FROM ONLY turnstile.job
WHERE job.lane = $1 AND job.position >= $2 AND job.state = 'available' AND NOT job.position = ANY ($3)
ORDER BY job.position
LIMIT $4
