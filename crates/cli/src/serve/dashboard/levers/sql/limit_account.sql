-- NULL leaves what is there; $7 has the names of those that are taken away.
SELECT 'null'::pg_catalog.text
FROM turnstile.set_account(
    tenant => $1, name => $2, slots => $3, rate => $4, rate_per => $5::pg_catalog.interval, burst => $6, clear => $7
)
