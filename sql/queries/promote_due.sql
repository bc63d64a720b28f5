-- Makes up to $1 jobs of the queue $2 available whose time has come by $5, earliest first, among the first 1,000 of them. A
-- session's job keeps its place. None lies before ($3, $4) by run_at and position.
WITH first AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.queue COLLATE "C" = $2 AND job.waits_for = 'time'
        AND (job.run_at, job.position) >= ($3, $4) AND job.run_at <= $5
    ORDER BY job.run_at, job.position
    LIMIT 1000
), due AS MATERIALIZED (
    SELECT job.id, job.run_at, job.position
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY (SELECT first.id FROM first))
        AND job.queue COLLATE "C" = $2 AND job.state IN ('scheduled', 'retryable') AND job.run_at <= $5
    ORDER BY job.run_at, job.position
    LIMIT $1
    FOR NO KEY UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
    SELECT due.id, nextval('turnstile.job_position_seq') AS position
    FROM (SELECT * FROM due ORDER BY due.run_at, due.position) AS due
)
UPDATE ONLY turnstile.job
SET state = 'available',
    position = CASE WHEN job.session IS NULL THEN placed.position ELSE job.position END
FROM placed
WHERE job.id = placed.id
RETURNING job.id
