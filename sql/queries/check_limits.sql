-- All limits: kind of gate (its number in the scheduler), gate, limit.
SELECT 0, queue.gate, CASE WHEN queue.paused THEN 0 ELSE queue.max_running END FROM turnstile.queue
UNION ALL
SELECT 1, tenant.gate, CASE WHEN tenant.paused THEN 0 ELSE tenant.slots END FROM turnstile.tenant
UNION ALL
SELECT 2, account.gate, CASE WHEN account.paused THEN 0 ELSE account.slots END FROM turnstile.account
UNION ALL
SELECT 4, concurrency.gate, concurrency.slots FROM turnstile.concurrency
