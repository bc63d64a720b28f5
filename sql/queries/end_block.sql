-- Ends the block of the jobs $1, which are locked; their children ended as $3. Those whose state in $2 is available wait to be
-- claimed, and keep their place in their session: (id, whether a trigger has kept it).
WITH decided AS MATERIALIZED (
    SELECT given.id, given.state, given.children::jsonb AS children
    FROM unnest($1, $2, $3) AS given (id, state, children)
), changed AS (
    UPDATE ONLY turnstile.job
    SET state = CASE WHEN decided.state = 'available' THEN 'available' ELSE job.state END,
        run_at = CASE WHEN decided.state = 'available' THEN greatest(job.run_at, clock_timestamp()) ELSE job.run_at END,
        position = CASE
            WHEN decided.state = 'available' AND job.session IS NULL THEN nextval('turnstile.job_position_seq')
            ELSE job.position
        END,
        -- Where its children may start now, they live.
        children = CASE WHEN decided.state = 'available' AND job.opens_batch THEN NULL ELSE coalesce(decided.children, job.children) END
    FROM decided
    WHERE job.id = decided.id
    RETURNING job.id
)
SELECT decided.id, changed.id IS NULL
FROM decided
LEFT JOIN changed ON changed.id = decided.id
