-- Whether listeners of the queue whose gate is $1 are told, else what the row * says.
SELECT found.notify
FROM (
    SELECT own.notify, 1 AS place FROM turnstile.queue_in_force AS own WHERE own.gate = $1
    UNION ALL
    SELECT general.notify, 2 FROM turnstile.queue_in_force AS general WHERE general.name = '*'
) AS found
ORDER BY found.place
LIMIT 1
