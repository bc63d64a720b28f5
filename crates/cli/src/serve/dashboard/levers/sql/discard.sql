SELECT pg_catalog.to_json(turnstile.discard($1))::text
