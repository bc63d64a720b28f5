-- For each of the jobs $1 whose batch is open, up to $2 blocked children that were not told of all predecessors, or wait for none:
-- (job, child). The others are found when a predecessor ends or comes back.
-- OFFSET 0: one look for each. The planner would rather read all batches.
SELECT given.id, child.id
FROM unnest($1) AS given (id)
CROSS JOIN LATERAL (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.parent = given.id AND job.waits_for = 'jobs'
        AND (
            EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = job.id AND NOT dependency.is_told OFFSET 0)
            OR NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = job.id OFFSET 0)
        )
        AND (job.opens_batch OR NOT EXISTS (SELECT FROM ONLY turnstile.job AS below WHERE below.parent = job.id OFFSET 0))
    LIMIT $2
) AS child
WHERE NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = given.id AND batch.opened_at IS NULL OFFSET 0)
