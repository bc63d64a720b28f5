SELECT 'null'::pg_catalog.text
FROM turnstile.resume_session(queue => $1, tenant => $2, session => $3)
