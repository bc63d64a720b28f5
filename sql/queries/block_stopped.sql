-- The job $1, which is locked, waits for the end of its children, to end in the state $2, with the errors $3 (null: those of the job).
UPDATE ONLY turnstile.job
SET state = 'blocked',
    opens_batch = NULL,
    errors = coalesce($3::jsonb, job.errors),
    cancel_requested_at = CASE WHEN $2 = 'cancelled' THEN clock_timestamp() ELSE job.cancel_requested_at END
WHERE job.id = $1
RETURNING job.id
