-- The terms of the first of the gates $1 that has a row: limit, starts, interval in microseconds, burst, pause,
-- weight, whether tenants share, and the interval of ageing in milliseconds. No row: no limit.
SELECT CASE WHEN account.paused THEN 0 ELSE account.slots END, account.rate, (extract(epoch FROM account.rate_per) * 1000000)::bigint,
    account.burst, account.paused_until, NULL::int, NULL::boolean, NULL::bigint
FROM turnstile.account
WHERE account.gate = ANY ($1)
ORDER BY array_position($1, account.gate)
LIMIT 1
