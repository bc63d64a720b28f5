-- Up to $2 dependencies whose predecessor has ended, of the next $3 of each of the jobs $1 that were not told of, and of all that come after
-- the jobs $1: (job, predecessor, its last state or null if it is gone, what that means to the job). met: it waits for it no more; failed: it
-- is to end, and is locked for that; held: it waits on, as it was told to hold where a predecessor ends wrong; busy: another
-- transaction has locked the job, or the dependency, and may yet be undone. What is met or failed is deleted, and what is held needs no other
-- look before its predecessor has come back. One that waits no more is not ended.
WITH untold AS MATERIALIZED (
    SELECT own.place, given.id AS job, own.predecessor, own.any_end, own.holds
    FROM unnest($1) AS given (id)
    CROSS JOIN LATERAL (
        SELECT dependency.ctid AS place, dependency.predecessor, dependency.any_end, dependency.holds
        FROM turnstile.dependency
        WHERE dependency.job = given.id AND NOT dependency.is_told
        LIMIT $3
    ) AS own
), gone AS MATERIALIZED (
    SELECT named.id, last.state, coalesce(last.state = 'completed', false) AS is_completed
    FROM (SELECT untold.predecessor FROM untold UNION SELECT given.id FROM unnest($1) AS given (id)) AS named (id)
    LEFT JOIN LATERAL (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = named.id
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) AS last ON true
    WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = named.id OFFSET 0)
        AND EXISTS (SELECT FROM turnstile.dependency WHERE dependency.predecessor = named.id OFFSET 0)
), ended AS NOT MATERIALIZED (
    SELECT untold.place, untold.job, untold.predecessor, untold.any_end, untold.holds, gone.state, gone.is_completed
    FROM untold
    JOIN gone ON gone.id = untold.predecessor
    UNION ALL
    SELECT after.place, after.job, gone.id, after.any_end, after.holds, gone.state, gone.is_completed
    FROM gone
    CROSS JOIN LATERAL (
        SELECT dependency.ctid AS place, dependency.job, dependency.any_end, dependency.holds
        FROM turnstile.dependency
        WHERE dependency.predecessor = gone.id AND (dependency.is_told OR NOT dependency.job = ANY ($1))
            AND (gone.is_completed OR dependency.any_end OR NOT dependency.holds)
        OFFSET 0
    ) AS after
    WHERE gone.id = ANY ($1)
), free AS MATERIALIZED (
    -- A row that has another place meanwhile is passed over.
    SELECT ended.place, ended.job, ended.predecessor, ended.state, ended.any_end OR ended.is_completed AS is_met, ended.holds
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
    WHERE job.id = ANY (ARRAY(SELECT free.job FROM free WHERE NOT free.is_met AND NOT free.holds)) AND job.state = 'blocked'
    ORDER BY job.id
    FOR UPDATE SKIP LOCKED
), decided AS MATERIALIZED (
    SELECT free.place, free.job, free.predecessor, free.state,
        CASE
            WHEN free.is_met THEN 'met'
            WHEN NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = free.job AND job.state = 'blocked' OFFSET 0) THEN 'met'
            WHEN free.holds THEN 'held'
            WHEN EXISTS (SELECT FROM locked WHERE locked.id = free.job) THEN 'failed'
            ELSE 'busy'
        END AS outcome
    FROM free
), deleted AS (
    DELETE FROM turnstile.dependency
    USING decided
    WHERE dependency.ctid = decided.place AND decided.outcome IN ('met', 'failed')
), told AS (
    UPDATE turnstile.dependency
    SET is_told = true
    FROM decided
    WHERE dependency.ctid = decided.place AND decided.outcome = 'held'
)
SELECT decided.job, decided.predecessor, decided.state, decided.outcome
FROM decided
UNION ALL
SELECT passed_over.job, passed_over.predecessor, NULL, 'busy'
FROM passed_over
