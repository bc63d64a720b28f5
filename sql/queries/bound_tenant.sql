-- How many jobs may wait of the first of the tenants with the gates $1 that has a row; no row: any number.
SELECT tenant.max_waiting
FROM turnstile.tenant
WHERE tenant.gate = ANY ($1)
ORDER BY array_position($1, tenant.gate)
LIMIT 1
