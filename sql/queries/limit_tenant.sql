-- The terms of the first of the gates $1 that has a row: limit, starts, interval in microseconds, burst, pause,
-- weight, whether tenants share, and the interval of ageing in milliseconds. No row: no limit.
SELECT CASE WHEN tenant.paused THEN 0 ELSE tenant.slots END, tenant.rate, (extract(epoch FROM tenant.rate_per) * 1000000)::bigint,
    tenant.burst, tenant.paused_until, tenant.weight, NULL::boolean, NULL::bigint
FROM turnstile.tenant
WHERE tenant.gate = ANY ($1)
ORDER BY array_position($1, tenant.gate)
LIMIT 1
