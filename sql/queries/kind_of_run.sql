-- The kind of the run ($1, $2).
SELECT job.kind
FROM ONLY turnstile.job
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
