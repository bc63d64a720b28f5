-- Moves up to $4 waiting jobs of the kinds $1, oldest first, to the queues $2 and concurrency keys $3 at the same
-- place of the arrays; null leaves what a job has. $5: of those that wait in this queue only, if given.
-- Claims do not wait for what is locked here, nor this for claims: a job that is being claimed stays.
WITH target AS MATERIALIZED (
    SELECT route.kind, route.queue, route.concurrency_key
    FROM unnest($1, $2, $3) AS route (kind, queue, concurrency_key)
)
UPDATE ONLY turnstile.job
SET queue = coalesce(target.queue, job.queue),
    concurrency_key = coalesce(target.concurrency_key, job.concurrency_key)
FROM target
WHERE job.kind = target.kind AND job.id = ANY (ARRAY (
    SELECT waiting.id
    FROM ONLY turnstile.job AS waiting
    JOIN target ON target.kind = waiting.kind
    WHERE waiting.state <> 'running' AND ($5 IS NULL OR waiting.queue = $5)
        AND (
            waiting.queue <> target.queue
            OR waiting.concurrency_key IS DISTINCT FROM coalesce(target.concurrency_key, waiting.concurrency_key)
        )
    ORDER BY waiting.id
    LIMIT $4
    FOR NO KEY UPDATE OF waiting SKIP LOCKED
))
RETURNING job.id
