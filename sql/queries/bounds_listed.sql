-- Whose backlogs have a bound: kind (0 queue, 1 tenant), gate, and whether it is the default row.
SELECT 0, queue.gate, queue.name = '*'
FROM turnstile.queue
WHERE queue.max_waiting IS NOT NULL
UNION ALL
SELECT 1, tenant.gate, tenant.name = '*'
FROM turnstile.tenant
WHERE tenant.max_waiting IS NOT NULL
