-- All terms: kind of gate (its number in the scheduler), gate, and as in limit_*.sql.
SELECT 0, queue.gate, CASE WHEN queue.paused THEN 0 ELSE queue.max_running END, queue.rate,
    (extract(epoch FROM queue.rate_per) * 1000000)::bigint, queue.burst, queue.paused_until, NULL::int, queue.policy = 'fair',
    (extract(epoch FROM queue.aging) * 1000)::bigint
FROM turnstile.queue
UNION ALL
SELECT 1, tenant.gate, CASE WHEN tenant.paused THEN 0 ELSE tenant.slots END, tenant.rate,
    (extract(epoch FROM tenant.rate_per) * 1000000)::bigint, tenant.burst, tenant.paused_until, tenant.weight, NULL, NULL
FROM turnstile.tenant
UNION ALL
SELECT 2, account.gate, CASE WHEN account.paused THEN 0 ELSE account.slots END, account.rate,
    (extract(epoch FROM account.rate_per) * 1000000)::bigint, account.burst, account.paused_until, NULL, NULL, NULL
FROM turnstile.account
UNION ALL
SELECT 4, concurrency.gate, concurrency.slots, concurrency.rate,
    (extract(epoch FROM concurrency.rate_per) * 1000000)::bigint, concurrency.burst, NULL::timestamptz, NULL, NULL, NULL
FROM turnstile.concurrency
UNION ALL
SELECT 3, paused_session.gate, 1, NULL, NULL, NULL, paused_session.until, NULL, NULL, NULL
FROM turnstile.paused_session
