-- Locks and gives up to $8 live jobs of queue $1, kind $2, tenant $3, account $4, session $5, in one of the states
-- $6, enqueued longer ago than $7. children of $9. NULL: any. Those that are locked, or run and were asked to cancel, are passed over.
SELECT job.id
FROM ONLY turnstile.job
WHERE ($1 IS NULL OR job.queue = $1)
    AND ($2 IS NULL OR job.kind = $2)
    AND ($3 IS NULL OR job.tenant = $3)
    AND ($4 IS NULL OR job.account = $4)
    AND ($5 IS NULL OR job.session = $5)
    AND ($9 IS NULL OR job.parent = $9)
    AND job.state = ANY ($6)
    AND ($7 IS NULL OR job.created_at < clock_timestamp() - $7)
    AND NOT (job.state = 'running' AND job.cancel_requested_at IS NOT NULL)
ORDER BY job.id
LIMIT $8
FOR UPDATE SKIP LOCKED
