SELECT pg_catalog.to_json(turnstile.cancel($1))::text
