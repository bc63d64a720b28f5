-- Whether the first of the gates $2 of the kind $1 (as in stored keys) that has a row of settings is paused.
SELECT setting.paused
FROM (
    SELECT 0 AS kind, queue.gate, queue.paused FROM turnstile.queue
    UNION ALL
    SELECT 1, tenant.gate, tenant.paused FROM turnstile.tenant
    UNION ALL
    SELECT 2, account.gate, account.paused FROM turnstile.account
    UNION ALL
    SELECT 4, turnstile_internal.gate_key('concurrency', NULL, endpoint.concurrency_key), bool_and(endpoint.paused)
    FROM turnstile.endpoint
    WHERE endpoint.concurrency_key IS NOT NULL
    GROUP BY endpoint.concurrency_key
    UNION ALL
    SELECT 6, batch.gate, batch.paused FROM turnstile.batch
) AS setting
WHERE setting.kind = $1 AND setting.gate = ANY ($2)
ORDER BY array_position($2, setting.gate)
LIMIT 1
