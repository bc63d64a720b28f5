-- Tells what to do with those of the jobs $1, which are locked, that are to end in the state $2, cancelled or discarded, with error $3
-- if there is one: (id, state, errors as text, whether a trigger has kept it from being asked, whether it has live children). Of those
-- that run it asks for the cancellation, if that is the state. Those that are blocked come after no other job any more.
WITH target AS MATERIALIZED (
    SELECT job.id, job.state, job.attempt, job.errors, job.cancel_requested_at
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($1)
    ORDER BY job.id
), freed AS (
    DELETE FROM turnstile.dependency
    USING target
    WHERE dependency.job = target.id AND target.state = 'blocked'
), asked AS (
    UPDATE ONLY turnstile.job
    SET cancel_requested_at = clock_timestamp()
    FROM target
    WHERE job.id = target.id AND target.state = 'running' AND $2 = 'cancelled' AND job.cancel_requested_at IS NULL
    RETURNING job.id
)
SELECT
    target.id,
    target.state,
    CASE
        WHEN $3 IS NULL THEN NULL
        ELSE CASE WHEN jsonb_typeof(target.errors) = 'array' THEN target.errors ELSE '[]' END || jsonb_build_object(
            'attempt', target.attempt, 'at', clock_timestamp(), 'worker', NULL, 'error',
            CASE
                WHEN length($3) > 4000 THEN left($3, 4000) || ' [cut: ' || length($3) || ' characters]'
                ELSE $3
            END
        )
    END::text,
    target.state = 'running' AND $2 = 'cancelled' AND target.cancel_requested_at IS NULL AND asked.id IS NULL,
    EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = target.id OFFSET 0)
FROM target
LEFT JOIN asked ON asked.id = target.id
