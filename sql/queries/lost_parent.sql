-- The parent with which job $1 has ended last, if nothing is left of that.
SELECT last.parent
FROM (
    SELECT job_history.parent
    FROM turnstile.job_history
    WHERE job_history.id = $1
    ORDER BY job_history.finished_at DESC
    LIMIT 1
) AS last
WHERE last.parent IS NOT NULL
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.parent OFFSET 0)
    AND NOT EXISTS (SELECT FROM turnstile.job_history WHERE job_history.id = last.parent OFFSET 0)
