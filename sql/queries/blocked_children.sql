-- Up to $2 blocked children of the jobs $1, whose batches are open, that may wait for nothing else: not those whose predecessors were
-- told of them, or that hold for one that has ended wrong.
-- OFFSET 0: one look for each. The planner would rather read all batches.
SELECT child.id
FROM ONLY turnstile.job AS child
WHERE child.parent = ANY ($1) AND child.waits_for = 'jobs'
    AND NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = child.parent AND batch.opened_at IS NULL OFFSET 0)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.dependency
        WHERE dependency.job = child.id AND (
            dependency.is_told
            OR dependency.holds AND NOT dependency.any_end
                AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor OFFSET 0)
                AND coalesce((
                    SELECT job_history.state
                    FROM turnstile.job_history
                    WHERE job_history.id = dependency.predecessor
                    ORDER BY job_history.finished_at DESC
                    LIMIT 1
                ) <> 'completed', true)
        )
        OFFSET 0
    )
    AND (child.opens_batch OR NOT EXISTS (SELECT FROM ONLY turnstile.job AS below WHERE below.parent = child.id OFFSET 0))
LIMIT $2
