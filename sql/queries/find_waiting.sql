-- Locks up to $5 jobs of lane $2 of group $1 that are not locked, by position from $3 on and before $4: (id, the
-- attempts that it has had, position, whether its turn opens its batch, claim_epoch).
-- $6: positions that this transaction made available itself; they are not committed, so not eligible. Nor is what has come since $7, the
-- time of the pick where that is when runs start; nor a job that holds its session while that is paused.
SELECT job.id, job.attempt, job.position, job.opens_batch IS TRUE, job.claim_epoch
FROM ONLY turnstile.job
WHERE job.lane_group = $1 AND job.lane = $2 AND job.position >= $3 AND job.position < $4 AND job.state = 'available' AND job.waits_for IS NULL
    AND NOT job.position = ANY ($6)
    AND NOT (job.run_at > $7 AND job.run_at <= clock_timestamp())
    AND NOT (job.holds_session AND EXISTS (
        SELECT FROM turnstile.paused_session
        WHERE paused_session.gate = turnstile_internal.session_gate(job.queue, job.tenant, job.session) AND paused_session.until > clock_timestamp()
        OFFSET 0
    ))
ORDER BY job.position
LIMIT $5
FOR NO KEY UPDATE SKIP LOCKED
