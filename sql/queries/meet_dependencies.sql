-- Of the dependencies of the jobs $1, and on them, up to $2 whose predecessor has ended: (job, predecessor, its last state or null if it
-- is gone, what that means to the job). met: it waits for it no more; failed: it is to end, and is locked for that; busy: another
-- transaction has locked the job, or the dependency, and may yet be undone. They are deleted unless that is so. A job that is told to
-- hold waits on where a predecessor ended wrong; one that waits no more is not ended.
WITH known AS NOT MATERIALIZED (
    -- One index each. For a condition with OR the planner would rather read the dependencies of all jobs, and so it would to find
    -- these again by their key. A row that has another place meanwhile is passed over.
    SELECT dependency.ctid AS place, dependency.job, dependency.predecessor, dependency.any_end, dependency.holds
    FROM turnstile.dependency
    WHERE dependency.job = ANY ($1)
    UNION ALL
    SELECT dependency.ctid, dependency.job, dependency.predecessor, dependency.any_end, dependency.holds
    FROM turnstile.dependency
    WHERE dependency.predecessor = ANY ($1) AND NOT dependency.job = ANY ($1)
), ended AS NOT MATERIALIZED (
    SELECT known.place, known.job, known.predecessor, last.state, outcome.is_met
    FROM known
    LEFT JOIN LATERAL (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = known.predecessor
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
        SELECT known.any_end OR coalesce(last.state = 'completed', false) AS is_met
    ) AS outcome
    WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = known.predecessor OFFSET 0)
        AND (outcome.is_met OR NOT known.holds)
), free AS MATERIALIZED (
    SELECT ended.place, ended.job, ended.predecessor, ended.state, ended.is_met
    FROM ended
    JOIN turnstile.dependency ON dependency.ctid = ended.place
    LIMIT $2
    FOR UPDATE OF dependency SKIP LOCKED
), passed_over AS MATERIALIZED (
    SELECT ended.job, ended.predecessor
    FROM ended
    WHERE NOT EXISTS (SELECT FROM free WHERE free.predecessor = ended.predecessor AND free.job = ended.job)
        AND (SELECT count(*) FROM free) < $2
    LIMIT $2
), locked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT free.job FROM free WHERE NOT free.is_met)) AND job.state = 'blocked'
    ORDER BY job.id
    FOR UPDATE SKIP LOCKED
), decided AS MATERIALIZED (
    SELECT free.place, free.job, free.predecessor, free.state,
        CASE
            WHEN free.is_met THEN 'met'
            WHEN EXISTS (SELECT FROM locked WHERE locked.id = free.job) THEN 'failed'
            WHEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = free.job AND job.state = 'blocked' OFFSET 0) THEN 'busy'
            ELSE 'met'
        END AS outcome
    FROM free
), deleted AS (
    DELETE FROM turnstile.dependency
    USING decided
    WHERE dependency.ctid = decided.place AND decided.outcome <> 'busy'
)
SELECT decided.job, decided.predecessor, decided.state, decided.outcome
FROM decided
UNION ALL
SELECT passed_over.job, passed_over.predecessor, NULL, 'busy'
FROM passed_over
