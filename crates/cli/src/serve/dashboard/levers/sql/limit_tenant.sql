-- NULL leaves what is there; $8 has the names of those that are taken away.
SELECT 'null'::pg_catalog.text
FROM turnstile.set_tenant(
    name => $1, slots => $2, max_waiting => $3, weight => $4, rate => $5, rate_per => $6::pg_catalog.interval, burst => $7, clear => $8
)
