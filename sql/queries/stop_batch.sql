-- Stops the batch of the live job $1, which is locked: it is to end in the state $2 after its children.
INSERT INTO turnstile.batch (id, stops, opened_at)
VALUES ($1, $2, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET stops = $2 WHERE batch.stops IS NULL OR batch.stops = 'failed'
