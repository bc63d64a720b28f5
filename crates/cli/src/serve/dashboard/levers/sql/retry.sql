SELECT pg_catalog.to_json(turnstile.retry($1))::text
