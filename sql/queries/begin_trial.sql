-- Jobs of the concurrency key $1 run one at a time, unless its endpoint $2 wants no trials. Writes nothing where they do already.
INSERT INTO turnstile.slowed_key AS slowed (key, one_at_a_time)
SELECT $1, true
FROM turnstile.endpoint
WHERE endpoint.pattern = $2 AND endpoint.trial_after > 0
ON CONFLICT (key) DO UPDATE SET one_at_a_time = true
WHERE NOT slowed.one_at_a_time
