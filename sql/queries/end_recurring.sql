-- Ends the recurring job $1 for the role $2.
SELECT turnstile_internal.end_recurring($1, $2)
