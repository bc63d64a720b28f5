SELECT pg_catalog.to_jsonb(difference) FROM turnstile.check() AS difference
