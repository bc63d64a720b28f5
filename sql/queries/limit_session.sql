-- The terms of the session with the gate $1, as those of other gates: only its pause.
SELECT 1, NULL::int, NULL::bigint, NULL::int, paused_session.until, NULL::int, NULL::boolean, NULL::bigint
FROM turnstile.paused_session
WHERE paused_session.gate = ANY ($1)
