-- Nothing fires before $2, perhaps for a reason.
UPDATE turnstile.recurring
SET next_firing = $2, retry_at = NULL,
    last_error = coalesce($3, recurring.last_error),
    last_error_at = CASE WHEN $3 IS NULL THEN recurring.last_error_at ELSE pg_catalog.clock_timestamp() END
WHERE recurring.name = $1
