-- The rows of settings that the gates $1 of batches have.
SELECT setting.*
FROM turnstile.setting_of_batch AS setting
WHERE setting.gate = ANY ($1)
