-- The lease of the queue whose gate is $1, else that of the row *.
SELECT setting.lease
FROM turnstile.queue_in_force AS setting
WHERE setting.gate = $1 OR setting.name = '*'
ORDER BY setting.name = '*'
LIMIT 1
