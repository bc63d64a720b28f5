SELECT pg_catalog.to_json(turnstile.reprioritize($1, $2))::text
