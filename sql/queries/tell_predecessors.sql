-- Marks live predecessors, so that their ends lead to their followers: for each of the jobs $1, of the next $2 of its dependencies that were
-- not told of, and of the next $2 on it; and those of the jobs that have come back. (job of $1, what has become of a dependency of it or on it).
-- told: the predecessor is marked; busy: another transaction has locked that, or the dependency; ended: see meet_dependencies.
-- One that is marked already is not locked: whenever it ends, its followers are looked at.
WITH untold AS MATERIALIZED (
    SELECT given.id AS named, own.place, own.predecessor
    FROM unnest($1) AS given (id)
    CROSS JOIN LATERAL (
        SELECT dependency.ctid AS place, dependency.predecessor
        FROM turnstile.dependency
        WHERE dependency.job = given.id AND NOT dependency.is_told
        LIMIT $2
    ) AS own
    UNION ALL
    SELECT job.id, follower.place, job.id
    FROM ONLY turnstile.job
    CROSS JOIN LATERAL (
        SELECT dependency.ctid AS place
        FROM turnstile.dependency
        WHERE dependency.predecessor = job.id AND NOT dependency.is_told AND NOT dependency.job = ANY ($1)
        LIMIT $2
    ) AS follower
    WHERE job.id = ANY ($1)
), live AS MATERIALIZED (
    SELECT untold.place, untold.predecessor, before.is_marked
    FROM untold
    CROSS JOIN LATERAL (
        SELECT job.has_followers IS TRUE AS is_marked
        FROM ONLY turnstile.job
        WHERE job.id = untold.predecessor
        OFFSET 0
    ) AS before
), come_back AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($1) AND job.has_followers IS NOT TRUE
        AND EXISTS (SELECT FROM turnstile.dependency WHERE dependency.predecessor = job.id OFFSET 0)
), free AS MATERIALIZED (
    SELECT live.place, live.predecessor, live.is_marked
    FROM live
    JOIN turnstile.dependency ON dependency.ctid = live.place
    FOR NO KEY UPDATE OF dependency SKIP LOCKED
), locked AS MATERIALIZED (
    SELECT job.id, job.has_followers
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT free.predecessor FROM free WHERE NOT free.is_marked UNION SELECT come_back.id FROM come_back))
    ORDER BY job.id
    FOR NO KEY UPDATE SKIP LOCKED
), marked AS (
    UPDATE ONLY turnstile.job
    SET has_followers = true
    FROM locked
    WHERE job.id = locked.id AND locked.has_followers IS NOT TRUE
), told AS (
    -- A row that has another place meanwhile is passed over.
    UPDATE turnstile.dependency
    SET is_told = true
    FROM free
    WHERE dependency.ctid = free.place AND (free.is_marked OR EXISTS (SELECT FROM locked WHERE locked.id = free.predecessor))
    RETURNING free.place
)
SELECT
    untold.named,
    CASE
        WHEN told.place IS NOT NULL THEN 'told'
        WHEN live.place IS NOT NULL THEN 'busy'
        ELSE 'ended'
    END
FROM untold
LEFT JOIN live ON live.place = untold.place
LEFT JOIN told ON told.place = untold.place
UNION ALL
SELECT come_back.id, 'busy'
FROM come_back
WHERE NOT EXISTS (SELECT FROM locked WHERE locked.id = come_back.id)
