-- Sets up a recurring job, as the arguments of schedule() say, for the role $20.
SELECT turnstile_internal.set_recurring($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
