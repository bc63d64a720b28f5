-- The newest holder of key $2 in the scope $1: (generation, job, mode, whether its window is over, state or
-- null if it is no more, whether it has started, the states in which it holds the key, and the state in which it has ended, where
-- those count). Backwards, for the dead versions of both rows lie behind. A job that has lost its key by hand holds it no more.
SELECT holder.generation, holder.job_id, holder.mode, coalesce(holder.expires_at <= clock_timestamp(), false),
    job.state, job.attempt > job.uncounted, array_to_string(holder.states, ','),
    CASE WHEN holder.states && '{completed,cancelled,discarded}' AND job.id IS NULL THEN (
        SELECT job_history.state
        FROM turnstile.job_history
        WHERE job_history.id = holder.job_id AND job_history.unique_key = $2
            AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS live WHERE live.id = holder.job_id)
        ORDER BY job_history.finished_at DESC
        LIMIT 1
    ) END
FROM (
    SELECT unique_key.*
    FROM turnstile.unique_key
    WHERE unique_key.tenant = $1 AND unique_key.key = $2
    ORDER BY unique_key.generation DESC
    LIMIT 1
) AS holder
LEFT JOIN LATERAL (
    SELECT job.*
    FROM ONLY turnstile.job
    WHERE job.id >= holder.job_id AND job.id <= holder.job_id
    ORDER BY job.id DESC
    LIMIT 1
) AS job ON job.unique_key = $2 AND job.tenant IS NOT DISTINCT FROM nullif($1, '')
