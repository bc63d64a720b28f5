SELECT 'null'::pg_catalog.text
FROM turnstile.resume_concurrency(key => $1)
