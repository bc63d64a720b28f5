-- Makes the waiting job $13 the job that was asked for, blocked ($14) or to open its batch when its turn comes ($15); it keeps its id,
-- its age and, while it is available, its place. Attempts start afresh; the trigger place_job has it wait for a time that is ahead, and
-- it comes after no other job any more. No row if it waits no more; else (whether that was done, whether it has, or had, children,
-- whether it was blocked). With children it stays; nor is it done where it has changed since the snapshot, or where a trigger keeps it.
-- What need not change stays, so that the update touches no index where it can: under a pinned snapshot each entry of an index for the
-- same id is one more to walk.
WITH waiting AS MATERIALIZED (
    SELECT
        job.ctid,
        job.state = 'blocked' AS was_blocked,
        job.opens_batch IS TRUE OR job.children IS NOT NULL
            OR EXISTS (SELECT FROM turnstile.batch WHERE batch.id = job.id OFFSET 0)
            OR EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = job.id OFFSET 0)
            -- Others have not had any.
            OR (job.attempt > 0 OR job.state = 'blocked')
                AND EXISTS (SELECT FROM turnstile.job_history AS child WHERE child.parent = job.id OFFSET 0)
            AS is_parent
    FROM ONLY turnstile.job
    WHERE job.id >= $13 AND job.id <= $13 AND job.state IN ('available', 'scheduled', 'retryable', 'blocked')
    ORDER BY job.id DESC
    LIMIT 1
    FOR NO KEY UPDATE OF job
), untied AS (
    DELETE FROM turnstile.dependency
    USING waiting
    WHERE dependency.job = $13 AND NOT waiting.is_parent
    RETURNING dependency.job
), replaced AS (
    UPDATE ONLY turnstile.job
    SET kind = $1,
        payload = $2,
        queue = $3,
        account = $5,
        session = $6,
        concurrency_key = $7,
        priority = $8,
        run_at = CASE
            WHEN job.state = 'available' AND coalesce($9 <= clock_timestamp(), true) THEN job.run_at
            ELSE coalesce($9, clock_timestamp())
        END,
        max_attempts = $10,
        metadata = $11,
        parent = $12,
        state = CASE WHEN $14 THEN 'blocked' ELSE 'available' END,
        opens_batch = nullif($15, false),
        position = CASE
            WHEN job.state = 'available' OR $6 IS NOT NULL OR $9 > clock_timestamp() THEN job.position
            ELSE nextval('turnstile.job_position_seq')
        END,
        uncounted = job.attempt
    FROM waiting
    -- The trigger that looks at its new parent must not see what it came after.
    WHERE job.ctid = waiting.ctid AND NOT waiting.is_parent AND (SELECT count(*) FROM untied) >= 0
    RETURNING job.id
)
SELECT EXISTS (SELECT FROM replaced), waiting.is_parent, waiting.was_blocked
FROM waiting
