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
), followed AS MATERIALIZED (
    SELECT next.predecessor FROM next LIMIT $2
)
SELECT
    followed.predecessor,
    CASE
        WHEN live.id IS NOT NULL THEN live.has_followers IS NOT TRUE OR EXISTS (
            SELECT
            FROM turnstile.dependency
            WHERE dependency.predecessor = followed.predecessor AND NOT dependency.is_told
            OFFSET 0
        )
        ELSE EXISTS (
            SELECT
            FROM turnstile.dependency
            WHERE dependency.predecessor = followed.predecessor AND (dependency.any_end OR NOT dependency.holds)
            OFFSET 0
        ) OR coalesce((
            SELECT job_history.state = 'completed'
            FROM turnstile.job_history
            WHERE job_history.id = followed.predecessor
            ORDER BY job_history.finished_at DESC
            LIMIT 1
        ), false)
    END
FROM followed
LEFT JOIN LATERAL (
    -- OFFSET 0: one look for each. The planner would rather read all jobs.
    SELECT job.id, job.has_followers
    FROM ONLY turnstile.job
    WHERE job.id = followed.predecessor
    OFFSET 0
) AS live ON true
ORDER BY followed.predecessor
