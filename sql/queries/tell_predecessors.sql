-- Marks the live predecessors of the jobs $1, and those of the jobs $1 that have come back, so that their ends lead to their followers.
-- The jobs of which another transaction has locked a predecessor, or a dependency.
WITH untold AS MATERIALIZED (
    -- One index each, as in meet_dependencies. That of what was not told is not the one for predecessors, so the condition is not its own.
    SELECT dependency.ctid AS place, dependency.job, dependency.predecessor
    FROM turnstile.dependency
    WHERE dependency.job = ANY ($1) AND NOT dependency.is_told
    UNION ALL
    SELECT dependency.ctid, dependency.job, dependency.predecessor
    FROM turnstile.dependency
    WHERE dependency.predecessor = ANY ($1) AND NOT dependency.job = ANY ($1) AND dependency.is_told IS NOT TRUE
), free AS MATERIALIZED (
    SELECT untold.place, untold.job, untold.predecessor
    FROM untold
    JOIN turnstile.dependency ON dependency.ctid = untold.place
    FOR NO KEY UPDATE OF dependency SKIP LOCKED
), locked AS MATERIALIZED (
    SELECT job.id, job.has_followers
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT free.predecessor FROM free))
    ORDER BY job.id
    FOR NO KEY UPDATE SKIP LOCKED
), marked AS (
    UPDATE ONLY turnstile.job
    SET has_followers = true
    FROM locked
    WHERE job.id = locked.id AND locked.has_followers IS NOT TRUE
), told AS (
    UPDATE turnstile.dependency
    SET is_told = true
    FROM free
    JOIN locked ON locked.id = free.predecessor
    WHERE dependency.ctid = free.place
    RETURNING dependency.job, dependency.predecessor
)
SELECT DISTINCT CASE WHEN untold.job = ANY ($1) THEN untold.job ELSE untold.predecessor END
FROM untold
WHERE NOT EXISTS (SELECT FROM told WHERE told.job = untold.job AND told.predecessor = untold.predecessor)
    AND EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = untold.predecessor OFFSET 0)
