-- Moves up to $5 waiting jobs of the kinds $1, oldest first, to the queues $2 and concurrency keys $3 at the same
-- place of the arrays; null leaves what a job has. The keys $4 of the hosts of their endpoints go to jobs without a key, and to
-- those that have the key of another host. $6: of those that wait in this queue only, if given; $7: not these jobs.
-- Claims do not wait for what is locked here, nor this for claims: a job that is being claimed stays (for those who add children, see
-- src/table/parents/sessions.rs). So does one that waits for its children: it would give up its session.
WITH target AS MATERIALIZED (
    SELECT route.kind, route.queue, route.concurrency_key, route.host_key
    FROM unnest($1, $2, $3, $4) AS route (kind, queue, concurrency_key, host_key)
)
UPDATE ONLY turnstile.job
SET queue = coalesce(target.queue, job.queue),
    concurrency_key = coalesce(
        target.concurrency_key,
        CASE WHEN starts_with(coalesce(job.concurrency_key, 'host:'), 'host:') THEN target.host_key END,
        job.concurrency_key
    )
FROM target
WHERE job.kind = target.kind AND job.id = ANY (ARRAY (
    SELECT waiting.id
    FROM ONLY turnstile.job AS waiting
    JOIN target ON target.kind = waiting.kind
    WHERE waiting.state <> 'running' AND NOT (waiting.state = 'blocked' AND waiting.holds_session) AND ($6 IS NULL OR waiting.queue = $6)
        AND NOT waiting.id = ANY ($7)
        AND (
            waiting.queue <> target.queue
            OR waiting.concurrency_key IS DISTINCT FROM coalesce(
                target.concurrency_key,
                CASE WHEN starts_with(coalesce(waiting.concurrency_key, 'host:'), 'host:') THEN target.host_key END,
                waiting.concurrency_key
            )
        )
    ORDER BY waiting.id
    LIMIT $5
    FOR NO KEY UPDATE OF waiting SKIP LOCKED
))
RETURNING job.id
