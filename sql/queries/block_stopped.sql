-- The job $1, which is locked, waits for the end of its children, to end in the state $2.
UPDATE ONLY turnstile.job
SET state = 'blocked',
    opens_batch = NULL,
    cancel_requested_at = CASE WHEN $2 = 'cancelled' THEN clock_timestamp() ELSE job.cancel_requested_at END
WHERE job.id = $1
RETURNING job.id
