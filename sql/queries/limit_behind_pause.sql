-- The first of the gates $2 of the kind $1 (as in stored keys) that has a row of settings: (whether that is paused without end, how many
-- may run at once otherwise, null: any number).
SELECT setting.paused, setting.slots
FROM (
    SELECT 0 AS kind, queue.gate, queue.paused, queue.max_running AS slots FROM turnstile.queue_in_force AS queue
    UNION ALL
    SELECT 1, tenant.gate, tenant.paused, tenant.slots FROM turnstile.tenant_in_force AS tenant
    UNION ALL
    SELECT 2, account.gate, account.paused, account.slots FROM turnstile.account_in_force AS account
    UNION ALL
    SELECT 4, named.gate, NOT EXISTS (
        SELECT FROM turnstile.endpoint AS other
        WHERE other.concurrency_key = of_key.concurrency_key AND NOT other.paused
        OFFSET 0
    ), in_force.slots
    FROM unnest($2) AS named (gate)
    CROSS JOIN LATERAL (
        SELECT endpoint.concurrency_key
        FROM turnstile.endpoint
        WHERE endpoint.gate = named.gate AND endpoint.paused AND endpoint.concurrency_key IS NOT NULL
        LIMIT 1
    ) AS of_key
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN (SELECT slowed_key.one_at_a_time FROM turnstile.slowed_key WHERE slowed_key.key = of_key.concurrency_key) THEN least(known.slots, 1)
            ELSE known.slots
        END AS slots
        FROM (
            (SELECT own.slots FROM turnstile.concurrency_in_force AS own WHERE own.key = of_key.concurrency_key)
            UNION ALL
            (SELECT star.slots FROM turnstile.concurrency_in_force AS star WHERE star.key = '*')
            LIMIT 1
        ) AS known
    ) AS in_force
    UNION ALL
    SELECT 6, batch.gate, batch.paused, batch.slots FROM turnstile.batch
) AS setting
WHERE setting.kind = $1 AND setting.gate = ANY ($2)
ORDER BY array_position($2, setting.gate)
LIMIT 1
