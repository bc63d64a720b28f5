-- NULL leaves what is there; $7 has the names of those that are taken away.
SELECT 'null'::pg_catalog.text
FROM turnstile.set_queue(
    name => $1, max_running => $2, max_waiting => $3, rate => $4, rate_per => $5::pg_catalog.interval, burst => $6, clear => $7
)
