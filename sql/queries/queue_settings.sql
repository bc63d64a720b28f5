-- (max_attempts, lease, whether it keeps no completed jobs, durable_claims) of the queue whose gate is $1, else those of the row *.
SELECT setting.max_attempts, setting.lease, coalesce(setting.keep_completed = '0', false), setting.durable_claims
FROM turnstile.queue_in_force AS setting
WHERE setting.gate = $1 OR setting.name = '*'
ORDER BY setting.name = '*'
LIMIT 1
