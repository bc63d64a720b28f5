-- The kinds of jobs that wait; $1: those in this queue only, if given.
SELECT DISTINCT job.kind
FROM ONLY turnstile.job
WHERE job.state <> 'running' AND ($1 IS NULL OR job.queue = $1)
