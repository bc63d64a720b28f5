-- The children of the jobs $1 that were discarded or cancelled and have not come back: (parent, child).
SELECT DISTINCT failed.parent, failed.id
FROM turnstile.job_history AS failed
WHERE failed.parent = ANY ($1) AND failed.state IN ('discarded', 'cancelled')
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = failed.id)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.job_history AS later
        WHERE later.id = failed.id AND later.finished_at > failed.finished_at
    )
ORDER BY 1, 2
