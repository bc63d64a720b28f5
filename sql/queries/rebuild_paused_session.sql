-- Whether any session is paused.
SELECT true
FROM turnstile.paused_session
LIMIT 1
