-- Makes those of the jobs $1 available that wait for their time: (id, whether that was done, which a trigger may have kept).
WITH waiting AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($1) AND job.state IN ('scheduled', 'retryable')
    ORDER BY job.id
    FOR NO KEY UPDATE
), retried AS (
    UPDATE ONLY turnstile.job
    SET state = 'available',
        run_at = clock_timestamp(),
        position = CASE WHEN job.session IS NULL THEN nextval('turnstile.job_position_seq') ELSE job.position END
    FROM waiting
    WHERE job.id = waiting.id
    RETURNING job.id
)
SELECT waiting.id, retried.id IS NOT NULL
FROM waiting
LEFT JOIN retried ON retried.id = waiting.id
