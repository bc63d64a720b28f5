-- Of the ancestors of job $1 those that run and take up room at its gate of the kind $2: (the nearest, how many there are). None is in
-- its session: that is refused.
WITH RECURSIVE line AS (
    SELECT 1 AS depth, parent.*
    FROM ONLY turnstile.job AS child
    -- OFFSET 0: one look for each. The planner would rather read all jobs that have parents.
    CROSS JOIN LATERAL (SELECT job.* FROM ONLY turnstile.job WHERE job.id = child.parent OFFSET 0) AS parent
    WHERE child.id = $1
    UNION ALL
    SELECT line.depth + 1, parent.*
    FROM line
    CROSS JOIN LATERAL (SELECT job.* FROM ONLY turnstile.job WHERE job.id = line.parent OFFSET 0) AS parent
    WHERE line.depth < 100
)
SELECT line.id, count(*) OVER ()
FROM line
JOIN ONLY turnstile.job AS own ON own.id = $1
WHERE line.state = 'running'
    AND CASE $2
        WHEN 'queue' THEN line.queue = own.queue
        WHEN 'tenant' THEN line.tenant = own.tenant
        WHEN 'account' THEN line.tenant = own.tenant AND line.account = own.account
        WHEN 'concurrency' THEN line.concurrency_key = own.concurrency_key
        WHEN 'unique' THEN line.unique_key = own.unique_key AND line.tenant IS NOT DISTINCT FROM own.tenant
    END
ORDER BY line.depth
LIMIT 1
