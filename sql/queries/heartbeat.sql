-- Has the lease of the run ($1, $2) end after $3 from now on, or after that of its queue: whether the run may go
-- on, as nobody has asked for its cancellation.
UPDATE ONLY turnstile.job
SET lease_expires_at = clock_timestamp() + coalesce(
    $3,
    (
        SELECT queue.lease
        FROM turnstile.queue
        WHERE queue.name IN (job.queue, '*')
        ORDER BY queue.name = '*'
        LIMIT 1
    ),
    interval '5 minutes'
)
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
RETURNING job.cancel_requested_at IS NULL
