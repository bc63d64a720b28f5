-- The rows of settings that the gates $1 of tenants have.
SELECT setting.*
FROM turnstile.setting_of_tenant AS setting
WHERE setting.gate = ANY ($1)
