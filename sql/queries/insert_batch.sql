-- The settings of batch $1: slots $2, rate $3 per $4, burst $5, max_failed $6, on_end $7; $8: it is open at once.
INSERT INTO turnstile.batch (id, slots, rate, rate_per, burst, max_failed, on_end, opened_at)
VALUES ($1, $2, $3, coalesce($4, '1 second'), $5, $6, $7, CASE WHEN $8 THEN clock_timestamp() END)
ON CONFLICT (id) DO NOTHING
