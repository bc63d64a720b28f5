-- (max_attempts, lease, whether it keeps no completed jobs, durable_claims) of the queue whose gate is $1, else those of the row *.
SELECT found.max_attempts, found.lease, coalesce(found.keep_completed = '0', false), found.durable_claims
FROM (
    SELECT own.max_attempts, own.lease, own.keep_completed, own.durable_claims, 1 AS place
    FROM turnstile.queue_in_force AS own
    WHERE own.gate = $1
    UNION ALL
    SELECT general.max_attempts, general.lease, general.keep_completed, general.durable_claims, 2
    FROM turnstile.queue_in_force AS general
    WHERE general.name = '*'
) AS found
ORDER BY found.place
LIMIT 1
