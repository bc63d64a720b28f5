-- Whether listeners of the queue whose gate is $1 are told, else what the default row says, whose gate is $2.
SELECT queue.notify
FROM turnstile.queue
WHERE queue.gate IN ($1, $2)
ORDER BY queue.gate = $2
LIMIT 1
