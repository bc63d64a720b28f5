-- Of the dependencies of the jobs $1, and on them, up to $2 whose predecessor has ended: (job, predecessor, its last state or null if it
-- is gone, what that means to the job). met: it waits for it no more; failed: it is to end, and is locked for that; busy: the same, but
-- another transaction has locked it. They are deleted unless that is so. A job that is told to hold waits on where a predecessor
-- ended wrong; one that waits no more is not ended.
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
), locked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT ended.job FROM ended WHERE NOT ended.is_met)) AND job.state = 'blocked'
    ORDER BY job.id
    FOR UPDATE SKIP LOCKED
), decided AS MATERIALIZED (
    SELECT ended.job, ended.predecessor, ended.state,
        CASE
            WHEN ended.is_met THEN 'met'
            WHEN EXISTS (SELECT FROM locked WHERE locked.id = ended.job) THEN 'failed'
            WHEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = ended.job AND job.state = 'blocked') THEN 'busy'
            ELSE 'met'
        END AS outcome
    FROM ended
), deleted AS (
    DELETE FROM turnstile.dependency
    USING decided
    WHERE dependency.predecessor = decided.predecessor AND dependency.job = decided.job AND decided.outcome <> 'busy'
)
SELECT decided.job, decided.predecessor, decided.state, decided.outcome
FROM decided
