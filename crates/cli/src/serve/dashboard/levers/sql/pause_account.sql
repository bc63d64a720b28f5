-- $3: seconds, or NULL for a pause that does not end by itself.
SELECT 'null'::pg_catalog.text
FROM turnstile.pause_account(tenant => $1, name => $2, until => pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $3))
