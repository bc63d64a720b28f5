-- The pause of session $3 of queue $1 and tenant $2, if it is paused now.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT CASE WHEN pg_catalog.isfinite(paused.until) THEN extract(epoch FROM paused.until)::float8 END AS until
    FROM turnstile.paused_session AS paused
    WHERE paused.gate = turnstile_internal.session_gate(queue => $1, tenant => $2, session => $3)
        AND paused.until > pg_catalog.statement_timestamp()
) AS found
