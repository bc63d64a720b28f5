-- Whether listeners of the queue whose gate is $1 are told, else what the row * says.
SELECT setting.notify
FROM turnstile.queue_in_force AS setting
WHERE setting.gate = $1 OR setting.name = '*'
ORDER BY setting.name = '*'
LIMIT 1
