-- Extends the lease of the run ($1, $2) to $3 from now, to what its claim asked for, or to the lease of its queue; $4: the run is bound to no backend any more.
-- Returns whether the run may go on: its cancellation was not requested.
UPDATE ONLY turnstile.job
SET lease_expires_at = clock_timestamp() + coalesce(
    $3,
    job.lease,
    (
        SELECT setting.lease
        FROM turnstile.queue_in_force AS setting
        WHERE setting.name IN (job.queue, '*')
        ORDER BY setting.name = '*'
        LIMIT 1
    )
),
owner_pid = CASE WHEN $4 THEN NULL ELSE job.owner_pid END,
owner_started_at = CASE WHEN $4 THEN NULL ELSE job.owner_started_at END
WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running'
RETURNING job.cancel_requested_at IS NULL
