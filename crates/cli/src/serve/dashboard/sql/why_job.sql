-- Why job $1 waits.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        why.reason, why.gate, why.name, why.holder, why.detail,
        CASE WHEN pg_catalog.isfinite(why.opens_at) THEN extract(epoch FROM why.opens_at)::float8 END AS opens_at
    FROM turnstile.why_waiting($1) AS why
    ORDER BY why.ord
) AS found
