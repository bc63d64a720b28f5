-- Pauses the recurring job $1 until $2, or ends its pause, for the role $3, which may be an operator.
SELECT turnstile_internal.set_recurring_pause($1, $2, $3, $4)
