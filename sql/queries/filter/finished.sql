-- Finished jobs that are not live again, whose last end was in one of the states $6, longer ago than $7 and before $13. NULL: any.
SELECT chosen.id
FROM turnstile.job_history AS chosen
WHERE chosen.state = ANY ($6)
    AND ($7 IS NULL OR chosen.finished_at < clock_timestamp() - $7)
    AND ($13 IS NULL OR chosen.finished_at < $13)
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = chosen.id)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.job_history AS later
        WHERE later.id = chosen.id AND later.finished_at > chosen.finished_at
    )
