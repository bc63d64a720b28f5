-- $4: seconds, or NULL for a pause that does not end by itself.
SELECT 'null'::pg_catalog.text
FROM turnstile.pause_session(
    queue => $1, tenant => $2, session => $3,
    until => pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $4)
)
