-- How many jobs may wait in the first of the queues with the gates $1 that has a row; no row: any number.
SELECT queue.max_waiting
FROM turnstile.queue
WHERE queue.gate = ANY ($1)
ORDER BY array_position($1, queue.gate)
LIMIT 1
