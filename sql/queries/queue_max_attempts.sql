-- The attempts of a job of queue $1 that is enqueued without max_attempts; no row: there is no setting.
SELECT queue.max_attempts
FROM turnstile.queue
WHERE queue.name IN ($1, '*')
ORDER BY queue.name = '*'
LIMIT 1
