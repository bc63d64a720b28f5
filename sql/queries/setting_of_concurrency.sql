-- The rows of settings that the gates $1 of concurrency keys have.
SELECT setting.*
FROM turnstile.setting_of_concurrency AS setting
WHERE setting.gate = ANY ($1)
