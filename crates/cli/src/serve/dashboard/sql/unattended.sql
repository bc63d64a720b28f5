-- $1: queues. Those of them from which no worker has claimed in the last minute, and on which none sleeps.
SELECT pg_catalog.to_json(queue.name)::text
FROM pg_catalog.unnest($1) AS queue (name)
WHERE EXISTS (
    SELECT FROM turnstile.why_waiting_summary(queue => queue.name) AS summary WHERE summary.reason = 'no_worker'
)
