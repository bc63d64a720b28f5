-- The rows of settings that the gates $1 of accounts have.
SELECT setting.*
FROM turnstile.setting_of_account AS setting
WHERE setting.gate = ANY ($1)
