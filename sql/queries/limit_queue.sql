-- The terms of the first of the gates $1 that has a row: limit, starts, interval in microseconds, burst, pause,
-- weight, whether tenants share, and the interval of ageing in milliseconds. No row: no limit.
SELECT CASE WHEN queue.paused THEN 0 ELSE queue.max_running END, queue.rate, (extract(epoch FROM queue.rate_per) * 1000000)::bigint,
    queue.burst, queue.paused_until, NULL::int, queue.policy = 'fair',
    (extract(epoch FROM queue.aging) * 1000)::bigint
FROM turnstile.queue
WHERE queue.gate = ANY ($1)
ORDER BY array_position($1, queue.gate)
LIMIT 1
