-- The attempts of a job of queue $1 that is enqueued without max_attempts.
SELECT setting.max_attempts
FROM turnstile.queue_in_force AS setting
WHERE setting.name IN ($1, '*')
ORDER BY setting.name = '*'
LIMIT 1
