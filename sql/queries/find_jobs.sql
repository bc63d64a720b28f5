-- Locks and gives up to $8 live jobs of queue $1, kind $2, tenant $3, account $4, session $5, in one of the states
-- $6, enqueued longer ago than $7, children of $9, of concurrency key $10, whose metadata contain $11 and whose last error begins
-- with $12, whose last run failed before $13, with ids from $14 to $15. NULL: any. $2 is a pattern of LIKE. Those that are locked,
-- that run and were asked to cancel, and parents that end once their children have are passed over.
SELECT job.id
FROM ONLY turnstile.job
WHERE ($1 IS NULL OR job.queue = $1)
    AND ($2 IS NULL OR job.kind LIKE $2 ESCAPE '!')
    AND ($3 IS NULL OR job.tenant = $3)
    AND ($4 IS NULL OR job.account = $4)
    AND ($5 IS NULL OR job.session = $5)
    AND ($9 IS NULL OR job.parent = $9)
    AND ($10 IS NULL OR job.concurrency_key = $10)
    AND ($11 IS NULL OR job.metadata @> $11)
    AND ($12 IS NULL OR starts_with(job.errors -> -1 ->> 'error', $12))
    AND ($13 IS NULL OR (job.errors -> -1 ->> 'at')::timestamptz < $13)
    AND job.id BETWEEN coalesce($14, -9223372036854775808) AND coalesce($15, 9223372036854775807)
    AND job.state = ANY ($6)
    AND ($7 IS NULL OR job.created_at < clock_timestamp() - $7)
    AND NOT (job.state = 'running' AND job.cancel_requested_at IS NOT NULL)
    AND NOT (
        job.state = 'blocked'
        AND EXISTS (SELECT FROM turnstile.batch WHERE batch.id = job.id AND batch.stops IN ('cancelled', 'discarded'))
    )
ORDER BY job.id
LIMIT $8
FOR UPDATE SKIP LOCKED
