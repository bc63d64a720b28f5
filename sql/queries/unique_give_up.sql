-- Takes back a generation that came too late.
DELETE FROM turnstile.unique_key
WHERE unique_key.tenant = $1 AND unique_key.key = $2 AND unique_key.generation = $3
