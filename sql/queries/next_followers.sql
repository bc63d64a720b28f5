-- The next $2 jobs from job $1 on that others come after: (job, whether it must be looked at). It must if it has ended, or was not told of
-- a follower.
WITH RECURSIVE next AS (
    (
        SELECT dependency.predecessor
        FROM turnstile.dependency
        WHERE dependency.predecessor >= $1
        ORDER BY dependency.predecessor
        LIMIT 1
    )
    UNION ALL
    SELECT beyond.predecessor
    FROM next
    CROSS JOIN LATERAL (
        SELECT dependency.predecessor
        FROM turnstile.dependency
        WHERE dependency.predecessor > next.predecessor
        ORDER BY dependency.predecessor
        LIMIT 1
    ) AS beyond
), some AS MATERIALIZED (
    SELECT next.predecessor FROM next LIMIT $2
)
SELECT
    some.predecessor,
    CASE
        -- OFFSET 0: one look for each. The planner would rather read the ids of all jobs, and keep them.
        WHEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = some.predecessor OFFSET 0)
            THEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = some.predecessor AND job.has_followers IS NOT TRUE OFFSET 0)
                OR EXISTS (SELECT FROM turnstile.dependency WHERE dependency.predecessor = some.predecessor AND NOT dependency.is_told OFFSET 0)
        ELSE EXISTS (
            SELECT
            FROM turnstile.dependency
            WHERE dependency.predecessor = some.predecessor AND (dependency.any_end OR NOT dependency.holds)
            OFFSET 0
        ) OR coalesce((
            SELECT job_history.state = 'completed'
            FROM turnstile.job_history
            WHERE job_history.id = some.predecessor
            ORDER BY job_history.finished_at DESC
            LIMIT 1
        ), false)
    END
FROM some
ORDER BY some.predecessor
