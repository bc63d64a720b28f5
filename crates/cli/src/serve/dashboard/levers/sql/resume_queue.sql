SELECT 'null'::pg_catalog.text
FROM turnstile.resume_queue(name => $1)
