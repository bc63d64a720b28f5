-- The jobs $1, which have come back, wait for their children again: at once, or in a session when their turn comes.
WITH waiting AS (
    UPDATE ONLY turnstile.job
    SET state = CASE WHEN job.session IS NULL THEN 'blocked' ELSE 'available' END,
        opens_batch = CASE WHEN job.session IS NOT NULL THEN true END,
        children = NULL
    WHERE job.id = ANY ($1) AND job.state IN ('available', 'scheduled')
    RETURNING job.id, job.state
)
INSERT INTO turnstile.batch (id, opened_at)
SELECT waiting.id, CASE WHEN waiting.state = 'blocked' THEN clock_timestamp() END
FROM waiting
ON CONFLICT (id) DO UPDATE SET stops = NULL, opened_at = excluded.opened_at
