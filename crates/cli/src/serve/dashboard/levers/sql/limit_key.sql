-- NULL leaves what is there; $6 has the names of those that are taken away.
SELECT 'null'::pg_catalog.text
FROM turnstile.set_concurrency(
    key => $1, slots => $2, rate => $3, rate_per => $4::pg_catalog.interval, burst => $5, clear => $6
)
