-- All jobs of the concurrency key $1 may run again. Writes nothing where it is not on trial.
WITH ended AS (
    DELETE FROM turnstile.slowed_key
    WHERE slowed_key.key = $1 AND slowed_key.one_at_a_time AND coalesce(slowed_key.paused_until < clock_timestamp(), true)
    RETURNING slowed_key.key
)
UPDATE turnstile.slowed_key
SET one_at_a_time = false
WHERE slowed_key.key = $1 AND slowed_key.one_at_a_time AND NOT EXISTS (SELECT FROM ended)
