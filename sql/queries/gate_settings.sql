-- All settings of gates: the number of the kind, the gate, and what it is set to.
SELECT setting.*
FROM turnstile.gate_setting AS setting
