-- The rows of settings that the gates $1 of sessions have.
SELECT setting.*
FROM turnstile.setting_of_session AS setting
WHERE setting.gate = ANY ($1)
