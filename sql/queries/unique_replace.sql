-- Makes the waiting job $13 the job that was asked for; it keeps its id, its age and, while it is available, its
-- place. Attempts start afresh; the trigger place_job has it wait for a time that is ahead. No row if it waits no
-- more; else whether that was done: not where it has changed since the snapshot, nor where a trigger keeps it. What need not
-- change stays, so that the update touches no index where it can: under a pinned snapshot each entry of an index for the same id
-- is one more to walk.
WITH waiting AS MATERIALIZED (
    SELECT job.ctid
    FROM ONLY turnstile.job
    WHERE job.id >= $13 AND job.id <= $13 AND job.state IN ('available', 'scheduled', 'retryable')
    ORDER BY job.id DESC
    LIMIT 1
    FOR NO KEY UPDATE
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
        state = 'available',
        position = CASE
            WHEN job.state = 'available' OR $6 IS NOT NULL OR $9 > clock_timestamp() THEN job.position
            ELSE nextval('turnstile.job_position_seq')
        END,
        uncounted = job.attempt
    FROM waiting
    WHERE job.ctid = waiting.ctid
    RETURNING job.id
)
SELECT EXISTS (SELECT FROM replaced)
FROM waiting
