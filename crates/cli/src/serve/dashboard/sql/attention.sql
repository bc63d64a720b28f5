-- Gates that are closed while jobs wait behind them: of each kind and reason the one with the most that wait, and how many there are.
SELECT pg_catalog.to_json(found)::text
FROM (
    WITH gates (gate, name, is_paused, paused_until, slots, rate, rate_per, running, waiting, oldest_waiting, claimed_per_minute) AS MATERIALIZED (
        SELECT
            'queue', queues.name, queues.paused, queues.paused_until, queues.max_running, queues.rate, queues.rate_per,
            queues.running, queues.waiting, queues.oldest_waiting, queues.claimed_per_minute
        FROM turnstile.queues
        UNION ALL
        SELECT
            'tenant', tenants.name, tenants.paused, tenants.paused_until, tenants.slots, tenants.rate, tenants.rate_per,
            tenants.running, tenants.waiting, tenants.oldest_waiting, tenants.claimed_per_minute
        FROM turnstile.tenants
        UNION ALL
        SELECT
            'key', keys.key, false, keys.paused_until, keys.slots, keys.rate, keys.rate_per,
            keys.running, keys.waiting, keys.oldest_waiting, keys.claimed_per_minute
        FROM turnstile.concurrency_keys AS keys
    ), closed AS (
        SELECT gates.*,
            CASE
                WHEN gates.is_paused OR gates.paused_until > pg_catalog.statement_timestamp() THEN 'paused'
                WHEN gates.slots = 0 THEN 'no_slots'
                WHEN gates.running >= gates.slots THEN 'full'
                -- Tokens that come while nobody claims are lost past the burst, so that a little less starts than may.
                WHEN gates.claimed_per_minute >= 0.7 * gates.rate * 60 / extract(epoch FROM gates.rate_per) THEN 'rate'
            END AS reason
        FROM gates
        WHERE gates.waiting > 0
    )
    SELECT DISTINCT ON (closed.reason = 'rate', closed.reason = 'full', closed.reason, closed.gate)
        closed.gate, closed.reason, closed.name, closed.slots, closed.rate,
        extract(epoch FROM closed.rate_per)::float8 AS rate_seconds,
        closed.waiting,
        extract(epoch FROM closed.oldest_waiting)::float8 AS oldest_seconds,
        CASE
            WHEN NOT closed.is_paused AND pg_catalog.isfinite(closed.paused_until) THEN extract(epoch FROM closed.paused_until)::float8
        END AS until,
        pg_catalog.count(*) OVER (PARTITION BY closed.reason, closed.gate) AS gates,
        pg_catalog.sum(closed.waiting) OVER (PARTITION BY closed.reason, closed.gate)::bigint AS all_waiting
    FROM closed
    WHERE closed.reason IS NOT NULL
    ORDER BY closed.reason = 'rate', closed.reason = 'full', closed.reason, closed.gate, closed.waiting DESC, closed.name
) AS found
