-- The last runs that failed and will be repeated, as memory has them.
WITH failed AS (
    SELECT failures.id, failures.kind, failures.queue, failures.tenant, failures.failed_at, failures.error
    FROM turnstile.recent_failures() AS failures
    WHERE failures.kind IS NOT NULL
)
