-- The limit behind the first of the gates $1 that has a row; no row: no limit.
SELECT CASE WHEN tenant.paused THEN 0 ELSE tenant.slots END
FROM turnstile.tenant
WHERE tenant.gate = ANY ($1)
ORDER BY array_position($1, tenant.gate)
LIMIT 1
