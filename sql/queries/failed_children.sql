-- What the jobs $1, which have come back, wait for: the children that were discarded or cancelled and have not come back (parent, child);
-- and those that had ended before they were told of their children: (parent, null).
SELECT DISTINCT failed.parent, failed.id
FROM turnstile.job_history AS failed
WHERE failed.parent = ANY ($1) AND failed.state IN ('discarded', 'cancelled')
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = failed.id OFFSET 0)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.job_history AS later
        WHERE later.id = failed.id AND later.finished_at > failed.finished_at
        OFFSET 0
    )
UNION ALL
SELECT alone.id, NULL
FROM unnest($1) AS given (id)
CROSS JOIN LATERAL (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = given.id AND job.state IN ('available', 'scheduled') AND job.children IS NULL
        AND EXISTS (SELECT FROM turnstile.batch WHERE batch.id = given.id OFFSET 0)
    OFFSET 0
) AS alone
ORDER BY 1, 2
