-- The rows of settings that the gates $1 of queues have.
SELECT setting.*
FROM turnstile.setting_of_queue AS setting
WHERE setting.gate = ANY ($1)
