SELECT pg_catalog.to_jsonb(turnstile.retry($1))
