-- Of the dependencies of the jobs $1, and on them, up to $2 whose predecessor has ended: (job, predecessor, its last state or null if it
-- is gone, whether that will do). They are deleted. A job that is told to hold waits on where a predecessor ended wrong.
WITH ended AS MATERIALIZED (
    SELECT dependency.job, dependency.predecessor, last.state, outcome.is_met
    FROM turnstile.dependency
    LEFT JOIN LATERAL (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = dependency.predecessor
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
        SELECT dependency.any_end OR coalesce(last.state = 'completed', false) AS is_met
    ) AS outcome
    WHERE (dependency.job = ANY ($1) OR dependency.predecessor = ANY ($1))
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = dependency.predecessor)
        AND (outcome.is_met OR NOT dependency.holds)
    LIMIT $2
    FOR UPDATE OF dependency SKIP LOCKED
), deleted AS (
    DELETE FROM turnstile.dependency
    USING ended
    WHERE dependency.predecessor = ended.predecessor AND dependency.job = ended.job
)
SELECT ended.job, ended.predecessor, ended.state, ended.is_met
FROM ended
