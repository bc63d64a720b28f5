SELECT pg_catalog.to_jsonb(turnstile.cancel($1))
