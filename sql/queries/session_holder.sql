-- The job of session $3 of queue $1 and tenant $2 that runs, or that holds the session while it waits for another attempt
-- or for its children, if it is among the jobs $4 or the first 1,000 that are put off or are blocked.
SELECT found.id
FROM (
    SELECT job.id, job.tenant, job.session
    FROM ONLY turnstile.job
    WHERE job.id = ANY ($4) AND job.queue COLLATE "C" = $1 AND job.state = 'running'
    UNION ALL
    SELECT put_off.id, put_off.tenant, put_off.session
    FROM (
        SELECT job.id, job.tenant, job.session, job.holds_session
        FROM ONLY turnstile.job
        WHERE job.queue COLLATE "C" = $1 AND job.waits_for = 'time'
        ORDER BY job.run_at, job.position
        LIMIT 1000
    ) AS put_off
    WHERE put_off.holds_session
    UNION ALL
    SELECT blocked.id, blocked.tenant, blocked.session
    FROM (
        SELECT job.id, job.tenant, job.session, job.holds_session
        FROM ONLY turnstile.job
        WHERE job.queue = $1 AND job.waits_for = 'jobs'
        LIMIT 1000
    ) AS blocked
    WHERE blocked.holds_session
) AS found
WHERE found.session = $3 AND found.tenant IS NOT DISTINCT FROM $2
LIMIT 1
