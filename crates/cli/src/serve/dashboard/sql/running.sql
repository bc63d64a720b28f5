-- $1: a queue or NULL, $2: how many of a queue at most, $3: whether some may be missing. Ids of jobs that run. As many are looked for as figures
-- know, from the latest lease back: runs that have ended are in the index, too, as long as an old snapshot could see them, and most of those have
-- earlier leases. Where one fewer is seen than figures know, all of them are read; some fewer are found soon.
SELECT pg_catalog.to_json(found.id)::text
FROM (
    SELECT queues.name, CASE WHEN $3 THEN greatest(queues.running - queues.running / 4 - 1, 1) ELSE queues.running END AS running
    FROM turnstile.queues
    WHERE queues.running > 0 AND ($1 IS NULL OR queues.name = $1)
) AS busy
CROSS JOIN LATERAL (
    SELECT jobs.id
    FROM turnstile.job_status AS jobs
    WHERE jobs.state = 'running' AND jobs.finished_at IS NULL AND jobs.queue COLLATE "C" = busy.name
    ORDER BY jobs.lease_expires_at DESC
    LIMIT least(busy.running, $2)
) AS found
