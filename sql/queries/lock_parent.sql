-- Keeps job $1 from ending before this transaction has. No row if it is not live.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = $1
FOR KEY SHARE
