-- The limit behind the first of the gates $1 that has a row; no row: no limit.
SELECT concurrency.slots
FROM turnstile.concurrency
WHERE concurrency.gate = ANY ($1)
ORDER BY array_position($1, concurrency.gate)
LIMIT 1
