-- The first job of lane $2 of group $1 that is available from position $3 on and before $4, locked or not: (id, position).
-- $5: positions that this transaction made available itself; its commit tells of them. A job that holds its session while that is paused
-- is passed over.
SELECT job.id, job.position
FROM ONLY turnstile.job
WHERE job.lane_group = $1 AND job.lane = $2 AND job.position >= $3 AND job.position < $4 AND job.state = 'available' AND job.waits_for IS NULL
    AND NOT job.position = ANY ($5)
    AND NOT (job.holds_session AND EXISTS (
        SELECT FROM turnstile.paused_session
        WHERE paused_session.gate = turnstile_internal.session_gate(job.queue, job.tenant, job.session) AND paused_session.until > clock_timestamp()
        OFFSET 0
    ))
ORDER BY job.position
LIMIT 1
