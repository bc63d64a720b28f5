-- Enqueues the job of a firing. It runs with the rights of the recurring job's owner.
SELECT turnstile.enqueue(
    kind => $1, payload => $2, queue => $3, tenant => $4, account => $5, session => $6, concurrency_key => $7, priority => $8,
    max_attempts => $9, unique_key => $10, unique_mode => $11, unique_for => $12, metadata => $13, unique_by => $14,
    unique_states => $15
)
