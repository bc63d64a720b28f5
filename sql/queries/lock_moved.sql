-- Locks job $1, which is moved, against those who add children below it.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = $1
FOR UPDATE
