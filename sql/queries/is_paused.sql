-- Whether the first of the gates $2 of the kind $1 (as in stored keys) that has a row of settings is paused.
SELECT setting.paused
FROM (
    SELECT 0 AS kind, queue.gate, queue.paused FROM turnstile.queue
    UNION ALL
    SELECT 1, tenant.gate, tenant.paused FROM turnstile.tenant
    UNION ALL
    SELECT 2, account.gate, account.paused FROM turnstile.account
    UNION ALL
    SELECT 4, named.gate, NOT EXISTS (
        SELECT FROM turnstile.endpoint AS other
        WHERE other.concurrency_key = of_key.concurrency_key AND NOT other.paused
        OFFSET 0
    )
    FROM unnest($2) AS named (gate)
    CROSS JOIN LATERAL (
        SELECT endpoint.concurrency_key
        FROM turnstile.endpoint
        WHERE endpoint.gate = named.gate AND endpoint.paused AND endpoint.concurrency_key IS NOT NULL
        LIMIT 1
    ) AS of_key
    UNION ALL
    SELECT 6, batch.gate, batch.paused FROM turnstile.batch
) AS setting
WHERE setting.kind = $1 AND setting.gate = ANY ($2)
ORDER BY array_position($2, setting.gate)
LIMIT 1
