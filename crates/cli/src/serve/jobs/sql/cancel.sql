-- Nothing happens unless the role is $2.
SELECT turnstile.cancel($1) WHERE CURRENT_USER = $2
