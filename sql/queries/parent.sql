-- What children of the live job $1 have to know: (state, queue, tenant, account, their priority, whether it takes children, whether too
-- many jobs wait for each other, whether its children may start, the ids of it and the jobs that wait for it, the gates of their sessions,
-- whether it was told how children have ended).
WITH RECURSIVE line AS (
    SELECT job.id, job.parent, job.queue, job.tenant, job.session, 1 AS depth
    FROM ONLY turnstile.job
    WHERE job.id = $1
    UNION ALL
    SELECT job.id, job.parent, job.queue, job.tenant, job.session, line.depth + 1
    FROM line
    JOIN ONLY turnstile.job ON job.id = line.parent
    WHERE line.depth < 100
)
SELECT job.state, job.queue, job.tenant, job.account, coalesce(batch.priority, job.priority),
    batch.stops IS NULL AND (
        job.state = 'running' OR job.opens_batch IS TRUE
        OR (job.state = 'blocked' AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = job.id OFFSET 0))
    ),
    (SELECT count(*) >= 100 FROM line),
    job.opens_batch IS NOT TRUE,
    ARRAY(SELECT line.id FROM line),
    ARRAY(SELECT turnstile_internal.session_gate(line.queue, line.tenant, line.session) FROM line WHERE line.session IS NOT NULL),
    job.children <> '{}'
FROM ONLY turnstile.job
LEFT JOIN turnstile.batch ON batch.id = job.id
WHERE job.id = $1
