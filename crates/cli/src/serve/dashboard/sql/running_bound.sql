-- $1: a queue or NULL, $2: how many of a queue at most. Ids of jobs that run without a lease, for as long as their session lasts.
SELECT pg_catalog.to_json(found.id)::text
FROM (SELECT queues.name FROM turnstile.queues WHERE queues.running > 0 AND ($1 IS NULL OR queues.name = $1)) AS busy
CROSS JOIN LATERAL (
    SELECT jobs.id
    FROM turnstile.job_status AS jobs
    WHERE jobs.state = 'running' AND jobs.finished_at IS NULL AND jobs.queue COLLATE "C" = busy.name AND jobs.lease_expires_at IS NULL
    LIMIT $2
) AS found
