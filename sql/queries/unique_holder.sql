-- The newest holder of key $2 in the scope $1: (generation, job, mode, whether its window is over, state or
-- null if it is no more, whether it has started). Backwards, for the dead versions of both rows lie behind. A
-- job that has lost its key by hand holds it no more.
SELECT holder.generation, holder.job_id, holder.mode, coalesce(holder.expires_at <= clock_timestamp(), false),
    job.state, job.attempt > job.uncounted
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
