-- How many live children of the job $1 wait, and how many run.
SELECT count(*) FILTER (WHERE job.state <> 'running'), count(*) FILTER (WHERE job.state = 'running')
FROM ONLY turnstile.job
WHERE job.parent = $1
