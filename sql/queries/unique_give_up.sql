-- Takes back a generation that came too late; no row if that was not done.
DELETE FROM turnstile.unique_key
WHERE unique_key.tenant = $1 AND unique_key.key = $2 AND unique_key.generation = $3
RETURNING unique_key.generation
