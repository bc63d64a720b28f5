-- The queues of the live jobs $1.
SELECT DISTINCT job.queue
FROM ONLY turnstile.job
WHERE job.id = ANY ($1)
