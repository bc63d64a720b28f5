-- Why nothing of the batch $1 starts whatever runs: paused, stopped or closed (its parent waits for its turn). No row if that is not so.
SELECT CASE
    WHEN batch.stops IS NOT NULL THEN 'stopped'
    WHEN batch.opened_at IS NULL THEN 'closed'
    ELSE 'paused'
END
FROM turnstile.batch
WHERE batch.gate = $1 AND (batch.stops IS NOT NULL OR batch.opened_at IS NULL OR batch.paused)
