-- What the first of the gates $1, of kind $2, is set to that has a row of settings. No row: the default.
SELECT setting.slots, setting.rate, setting.rate_per, setting.burst, setting.paused_until, setting.weight, setting.is_fair,
    setting.aging
FROM turnstile.gate_setting AS setting
WHERE setting.kind = $2 AND setting.gate = ANY ($1)
ORDER BY array_position($1, setting.gate)
LIMIT 1
