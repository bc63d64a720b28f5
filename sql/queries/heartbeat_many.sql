-- As heartbeat, of many runs ($1[i], $2[i]): for each, in order, (running, cancel_requested, or lost; whether a trigger has kept it
-- from being changed). Locked in order of id, so that two such calls cannot deadlock.
WITH given AS MATERIALIZED (
    SELECT given.id, given.attempt, given.ord
    FROM unnest($1, $2) WITH ORDINALITY AS given (id, attempt, ord)
), run AS MATERIALIZED (
    SELECT job.id, job.attempt, job.queue
    FROM ONLY turnstile.job
    WHERE job.state = 'running'
        AND EXISTS (SELECT FROM given WHERE given.id = job.id AND given.attempt = job.attempt)
        AND job.id = ANY ($1)
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
), told AS (
    UPDATE ONLY turnstile.job
    SET lease_expires_at = clock_timestamp() + coalesce(
        $3,
        job.lease,
        (
            SELECT setting.lease
            FROM turnstile.queue_in_force AS setting
            WHERE setting.name IN (run.queue, '*')
            ORDER BY setting.name = '*'
            LIMIT 1
        )
    ),
    owner_pid = CASE WHEN $4 THEN NULL ELSE job.owner_pid END,
    owner_started_at = CASE WHEN $4 THEN NULL ELSE job.owner_started_at END
    FROM run
    WHERE job.id = run.id AND job.attempt = run.attempt AND job.state = 'running'
    RETURNING job.id, job.attempt, job.cancel_requested_at IS NOT NULL AS is_to_stop
)
SELECT
    CASE
        WHEN told.is_to_stop THEN 'cancel_requested'
        WHEN told.id IS NOT NULL THEN 'running'
        ELSE 'lost'
    END,
    run.id IS NOT NULL AND told.id IS NULL
FROM given
LEFT JOIN run ON run.id = given.id AND run.attempt = given.attempt
LEFT JOIN told ON told.id = given.id AND told.attempt = given.attempt
ORDER BY given.ord
