-- Makes the firing $2 of the recurring job $1, after which $3 is the next. False: it failed, and that was told.
SELECT turnstile_internal.fire_once($1, $2, $3)
