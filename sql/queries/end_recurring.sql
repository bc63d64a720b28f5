-- Ends the recurring job $1 for the role $2.
SELECT turnstile.end_recurring($1, $2)
