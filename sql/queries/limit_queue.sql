-- The limit behind the first of the gates $1 that has a row; no row: no limit.
SELECT CASE WHEN queue.paused THEN 0 ELSE queue.max_running END
FROM turnstile.queue
WHERE queue.gate = ANY ($1)
ORDER BY array_position($1, queue.gate)
LIMIT 1
