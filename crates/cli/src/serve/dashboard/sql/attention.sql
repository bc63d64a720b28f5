-- Gates that are closed while jobs wait behind them: of each kind and reason the one with the most that wait, and how many there are.
SELECT pg_catalog.to_json(found)::text
FROM (
    WITH gates (gate, name, is_paused, paused_until, running, slots, waiting, oldest_waiting) AS MATERIALIZED (
        SELECT 'queue', queues.name, queues.paused, queues.paused_until, queues.running, queues.max_running, queues.waiting, queues.oldest_waiting
        FROM turnstile.queues
        UNION ALL
        SELECT 'tenant', tenants.name, tenants.paused, tenants.paused_until, tenants.running, tenants.slots, tenants.waiting, tenants.oldest_waiting
        FROM turnstile.tenants
        UNION ALL
        SELECT 'key', keys.key, false, keys.paused_until, keys.running, keys.slots, keys.waiting, keys.oldest_waiting
        FROM turnstile.concurrency_keys AS keys
    ), closed AS (
        SELECT gates.*,
            CASE
                WHEN gates.is_paused OR gates.paused_until > pg_catalog.statement_timestamp() THEN 'paused'
                WHEN gates.slots = 0 THEN 'no_slots'
                ELSE 'full'
            END AS reason
        FROM gates
        WHERE gates.waiting > 0
            AND (gates.is_paused OR gates.paused_until > pg_catalog.statement_timestamp() OR gates.running >= gates.slots)
    )
    SELECT DISTINCT ON (closed.reason, closed.gate)
        closed.gate, closed.reason, closed.name, closed.running, closed.slots, closed.waiting,
        extract(epoch FROM closed.oldest_waiting)::float8 AS oldest_seconds,
        CASE
            WHEN NOT closed.is_paused AND closed.paused_until < 'infinity' THEN extract(epoch FROM closed.paused_until)::float8
        END AS until,
        pg_catalog.count(*) OVER (PARTITION BY closed.reason, closed.gate) AS gates,
        pg_catalog.sum(closed.waiting) OVER (PARTITION BY closed.reason, closed.gate)::bigint AS all_waiting
    FROM closed
    ORDER BY closed.reason, closed.gate, closed.waiting DESC, closed.name
) AS found
