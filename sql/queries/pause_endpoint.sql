-- Nothing is sent to the endpoint $1.
UPDATE turnstile.endpoint
SET paused = true
WHERE endpoint.pattern = $1 AND NOT endpoint.paused
