-- NULL leaves what is there; $8 has the names of those that are taken away.
SELECT 'null'::pg_catalog.text
FROM turnstile.set_batch(
    id => $1, slots => $2, rate => $3, rate_per => $4::pg_catalog.interval, burst => $5, priority => $6, max_failed => $7,
    clear => $8
)
