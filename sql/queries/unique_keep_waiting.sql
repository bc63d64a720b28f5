-- Keeps the waiting job $1 from being claimed before this transaction ends, for a worker that claimed it
-- sooner would not see what the transaction has written. No row if it waits no more in one of the states $3, or if it has been started
-- before and $2 does not allow that. Other producers may do the same at the same time.
SELECT job.names, job.priority, job.position, job.state = 'available'
FROM turnstile.job_lane AS job
WHERE job.id >= $1 AND job.id <= $1
    AND job.state = ANY ($3) AND ($2 OR job.attempt <= job.uncounted)
ORDER BY job.id DESC
LIMIT 1
FOR SHARE
