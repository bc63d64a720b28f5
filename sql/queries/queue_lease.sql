-- The lease of the queue whose gate is $1, else that of the default row, whose gate is $2.
SELECT queue.lease
FROM turnstile.queue
WHERE queue.gate IN ($1, $2)
ORDER BY queue.gate = $2
LIMIT 1
