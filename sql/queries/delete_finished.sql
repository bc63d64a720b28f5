-- Deletes all that the history has of the jobs $1, which must be locked. Returns how many jobs that were.
WITH gone AS (
    DELETE FROM turnstile.job_history
    WHERE job_history.id = ANY ($1)
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = job_history.id OFFSET 0)
        AND NOT EXISTS (SELECT FROM pg_class AS day WHERE day.oid = job_history.tableoid AND day.relkind = 'f' OFFSET 0)
    RETURNING job_history.id
)
SELECT count(DISTINCT gone.id) FROM gone
