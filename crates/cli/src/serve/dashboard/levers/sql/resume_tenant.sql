SELECT 'null'::pg_catalog.text
FROM turnstile.resume_tenant(name => $1)
