-- The followers of the next $2 dependencies from job $1 on: (job, how many of those are its own, whether it must be looked at). It must
-- if a predecessor was not told, or has ended. Of the last job more may follow.
-- OFFSET 0: one look for each. The planner would rather read the ids of all jobs, and keep them.
WITH next AS MATERIALIZED (
    SELECT dependency.job, dependency.predecessor, dependency.any_end, dependency.holds, dependency.is_told
    FROM turnstile.dependency
    WHERE dependency.job >= $1
    ORDER BY dependency.job
    LIMIT $2
)
SELECT
    next.job,
    count(*),
    bool_or(
        CASE
            WHEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = next.predecessor OFFSET 0) THEN NOT next.is_told
            ELSE next.any_end OR NOT next.holds OR coalesce((
                SELECT job_history.state = 'completed'
                FROM turnstile.job_history
                WHERE job_history.id = next.predecessor
                ORDER BY job_history.finished_at DESC
                LIMIT 1
            ), false)
        END
    )
FROM next
GROUP BY next.job
ORDER BY next.job
