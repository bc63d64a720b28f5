-- The first of the jobs $1 that is neither live nor finished.
SELECT given.id
FROM unnest($1) AS given (id)
WHERE NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = given.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM turnstile.job_history WHERE job_history.id = given.id OFFSET 0)
LIMIT 1
