-- The job that runs with the unique key $3 of tenant $2, if it is among the first 1,000 that run in queue $1, or among the first
-- 1,000 that run at all.
SELECT found.id
FROM (
    SELECT here.*
    FROM (
        SELECT job.id, job.tenant, job.unique_key
        FROM ONLY turnstile.job
        WHERE job.queue COLLATE "C" = $1 AND job.state = 'running'
        ORDER BY job.lease_expires_at
        LIMIT 1000
    ) AS here
    UNION ALL
    SELECT anywhere.*
    FROM (
        SELECT job.id, job.tenant, job.unique_key
        FROM ONLY turnstile.job
        WHERE job.state = 'running'
        ORDER BY job.queue COLLATE "C", job.lease_expires_at
        LIMIT 1000
    ) AS anywhere
) AS found
WHERE found.unique_key = $3 AND found.tenant IS NOT DISTINCT FROM $2
LIMIT 1
