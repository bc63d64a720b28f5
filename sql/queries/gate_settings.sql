-- All settings of gates: kind, gate, and as in gate_setting.sql.
SELECT setting.kind, setting.gate, setting.slots, setting.rate, setting.rate_per, setting.burst, setting.paused_until,
    setting.weight, setting.is_fair, setting.aging
FROM turnstile.gate_setting AS setting
