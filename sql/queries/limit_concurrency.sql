-- The terms of the first of the gates $1 that has a row: limit, starts, interval in microseconds, burst, pause,
-- weight, whether tenants share, and the interval of ageing in milliseconds. No row: no limit.
SELECT concurrency.slots, concurrency.rate, (extract(epoch FROM concurrency.rate_per) * 1000000)::bigint,
    concurrency.burst, NULL::timestamptz, NULL::int, NULL::boolean, NULL::bigint
FROM turnstile.concurrency
WHERE concurrency.gate = ANY ($1)
ORDER BY array_position($1, concurrency.gate)
LIMIT 1
