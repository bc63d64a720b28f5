-- Makes up to $1 jobs available whose time has come, earliest first. A session's job keeps its place.
WITH due AS MATERIALIZED (
    SELECT job.id
    FROM turnstile.job
    WHERE job.state IN ('scheduled', 'retryable') AND job.run_at <= clock_timestamp()
    ORDER BY job.run_at, job.position
    LIMIT $1
    FOR NO KEY UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
    SELECT due.id, nextval('turnstile.job_position_seq') AS position FROM due
)
UPDATE turnstile.job
SET state = 'available',
    position = CASE WHEN job.session IS NULL THEN placed.position ELSE job.position END
FROM placed
WHERE job.id = placed.id
RETURNING job.id
