-- The gates of the sessions of job $1 and of those that wait for it.
WITH RECURSIVE line AS (
    SELECT job.parent, job.queue, job.tenant, job.session, 1 AS depth
    FROM ONLY turnstile.job
    WHERE job.id = $1
    UNION ALL
    SELECT job.parent, job.queue, job.tenant, job.session, line.depth + 1
    FROM line
    JOIN ONLY turnstile.job ON job.id = line.parent
    WHERE line.depth < 100
)
SELECT ARRAY(SELECT turnstile_internal.session_gate(line.queue, line.tenant, line.session) FROM line WHERE line.session IS NOT NULL)
