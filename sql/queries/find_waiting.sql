-- Locks up to $4 jobs of lane $1 that are not locked, by position from $2 on and before $3: (id, the attempt that
-- is next, position).
-- $5: positions that this transaction made available itself; they are not committed, so not eligible.
SELECT job.id, job.attempt + 1, job.position
FROM ONLY turnstile.job
WHERE job.lane = $1 AND job.position >= $2 AND job.position < $3 AND job.state = 'available'
    AND NOT job.position = ANY ($5)
ORDER BY job.position
LIMIT $4
FOR NO KEY UPDATE SKIP LOCKED
