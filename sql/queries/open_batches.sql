-- The turn of the jobs $1[i] has come in the lanes $3[i] of the groups $2[i]: they wait for their children, which may start from now on. The
-- ids of those of which that is true: one that was moved meanwhile is behind other gates.
-- Those whose settings another transaction is changing keep their turn.
WITH turn AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    JOIN unnest($1, $2, $3) AS found (id, lane_group, lane) USING (id, lane_group, lane)
    WHERE job.id = ANY ($1) AND job.state = 'available' AND job.opens_batch
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
), locked AS MATERIALIZED (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = ANY (ARRAY(SELECT turn.id FROM turn))
    ORDER BY batch.id
    FOR NO KEY UPDATE SKIP LOCKED
), blocked AS (
    UPDATE ONLY turnstile.job
    SET state = 'blocked',
        opens_batch = NULL,
        waited = turnstile_internal.add_wait(job.waited, job.run_at, clock_timestamp()),
        holds_session = job.session IS NOT NULL
    FROM turn
    WHERE job.id = turn.id AND (
        EXISTS (SELECT FROM locked WHERE locked.id = turn.id)
        OR NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = turn.id OFFSET 0)
    )
    RETURNING job.id
), opened AS (
    UPDATE turnstile.batch
    SET opened_at = clock_timestamp()
    FROM blocked
    WHERE batch.id = blocked.id AND batch.opened_at IS NULL
)
SELECT blocked.id
FROM blocked
