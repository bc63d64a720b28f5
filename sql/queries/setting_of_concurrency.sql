-- What the first of the gates $1 of concurrency keys is set to that has a row of settings. No row: the default.
SELECT setting.*
FROM turnstile.setting_of_concurrency AS setting
WHERE setting.gate = ANY ($1)
ORDER BY array_position($1, setting.gate)
LIMIT 1
