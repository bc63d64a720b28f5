-- No job of the concurrency key $1 starts for the time $2. A longer pause stays. Rows that mean nothing any more go, some at
-- a time, unless they are locked: two reports must not wait for each other.
WITH ended AS (
    DELETE FROM turnstile.slowed_key AS other
    WHERE other.key = ANY (ARRAY(
        SELECT slowed.key
        FROM turnstile.slowed_key AS slowed
        WHERE slowed.key <> $1 AND NOT slowed.one_at_a_time AND coalesce(slowed.paused_until, '-infinity') < statement_timestamp()
        ORDER BY coalesce(slowed.paused_until, '-infinity')
        LIMIT 100
        FOR UPDATE SKIP LOCKED
    ))
)
INSERT INTO turnstile.slowed_key AS slowed (key, paused_until)
VALUES ($1, clock_timestamp() + $2)
ON CONFLICT (key) DO UPDATE SET paused_until = excluded.paused_until
WHERE coalesce(slowed.paused_until < excluded.paused_until, true)
