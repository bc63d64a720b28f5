-- The jobs $1, which have come back, wait for no predecessor any more, and their batches are not stopped.
WITH forgotten AS (
    DELETE FROM turnstile.dependency
    WHERE dependency.job = ANY ($1)
)
UPDATE turnstile.batch
SET stops = NULL
WHERE batch.id = ANY ($1) AND batch.stops IS NOT NULL
