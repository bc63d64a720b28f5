INSERT INTO turnstile.job (
    kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at, max_attempts, metadata
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, clock_timestamp()), $10, $11)
RETURNING job.id
