-- The job that runs with the unique key $2 of tenant $1, if it is among the jobs $3.
SELECT job.id
FROM ONLY turnstile.job
WHERE job.id = ANY ($3) AND job.state = 'running' AND job.unique_key = $2 AND job.tenant IS NOT DISTINCT FROM $1
LIMIT 1
