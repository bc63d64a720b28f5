-- The unique keys that those of the finished jobs $1 held which are not live, in the order of the keys: job, scope,
-- key, mode, what is left of the window, and the states in which they held it.
SELECT last.id, coalesce(last.tenant, ''), last.unique_key, last.unique_mode, last.unique_until - clock_timestamp(),
    array_to_string(last.unique_states, ',')
FROM (
    SELECT DISTINCT ON (job_history.id) job_history.id, job_history.tenant, job_history.unique_key,
        job_history.unique_mode, job_history.unique_until, job_history.unique_states
    FROM turnstile.job_history
    WHERE job_history.id = ANY ($1)
    ORDER BY job_history.id, job_history.finished_at DESC
) AS last
WHERE last.unique_key IS NOT NULL AND (last.unique_mode <> 'while_executing' OR last.unique_mode IS NULL AND last.unique_states IS NOT NULL)
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = last.id OFFSET 0)
ORDER BY coalesce(last.tenant, '') COLLATE "C", last.unique_key COLLATE "C", last.id
