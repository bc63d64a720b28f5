-- The next $2 batches from job $1 on: (job, whether it must be looked at). It must if its children do not know what they should, or
-- if some have failed that may be too many, or if they wait for the turn of a parent that is gone.
-- OFFSET 0: as in next_followers.
WITH next AS MATERIALIZED (
    SELECT batch.id, batch.stops, batch.priority, batch.max_failed, batch.opened_at
    FROM turnstile.batch
    WHERE batch.id >= $1
    ORDER BY batch.id
    LIMIT $2
)
SELECT
    next.id,
    CASE
        WHEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = next.id AND job.priority < next.priority OFFSET 0)
            OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = next.id AND job.priority > next.priority OFFSET 0)
            THEN true
        WHEN next.opened_at IS NULL AND next.stops IS NULL AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = next.id OFFSET 0)
            THEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = next.id OFFSET 0)
        WHEN next.stops IS NOT NULL
            THEN EXISTS (SELECT FROM ONLY turnstile.job WHERE job.parent = next.id AND job.cancel_requested_at IS NULL OFFSET 0)
        ELSE next.max_failed IS NOT NULL
            AND EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = next.id OFFSET 0)
            AND EXISTS (SELECT FROM turnstile.job_history AS failed WHERE failed.parent = next.id AND failed.state = 'discarded' OFFSET 0)
    END
FROM next
ORDER BY next.id
