SELECT 'null'::pg_catalog.text
FROM turnstile.set_batch(id => $1, paused => $2, clear => CASE WHEN NOT $2 THEN '{paused_until}'::pg_catalog.text[] END)
