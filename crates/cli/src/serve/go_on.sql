-- $1: ids, of which those of live jobs are returned that the role $2 sees. A job that has finished has a finished_at.
SELECT my_jobs.id
FROM turnstile.my_jobs
WHERE my_jobs.id = ANY ($1) AND my_jobs.finished_at IS NULL AND CURRENT_USER = $2
