SELECT 'null'::pg_catalog.text
FROM turnstile.resume_account(tenant => $1, name => $2)
