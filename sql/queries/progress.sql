-- Notes that the run ($1, $2) has done $3 of $4, with message $5: whether it may go on. No index has the column,
-- so the new row version stays in its page where there is room (HOT).
UPDATE ONLY turnstile.job
SET progress = jsonb_build_object(
    'done', $3, 'total', $4,
    'message', CASE
        WHEN length($5) > 4000 THEN left($5, 4000) || ' [cut: ' || length($5) || ' characters]'
        ELSE $5
    END,
    'at', clock_timestamp()
)
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
RETURNING job.cancel_requested_at IS NULL
