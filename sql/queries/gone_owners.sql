-- Up to $1 backends that are gone although runs are bound to them: (pid, started_at).
SELECT DISTINCT job.owner_pid, job.owner_started_at
FROM ONLY turnstile.job
WHERE job.state = 'running' AND job.owner_pid IS NOT NULL AND job.owner_started_at IS NOT NULL
    AND NOT EXISTS (
        SELECT
        FROM pg_stat_get_activity(NULL) AS backend
        WHERE backend.pid = job.owner_pid AND backend.backend_start = job.owner_started_at
    )
LIMIT $1
