-- Locks those of the jobs $1 that are live, in order of id, so that two calls cannot deadlock: no child can come to them any more.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = ANY ($1)
ORDER BY job.id
FOR UPDATE
