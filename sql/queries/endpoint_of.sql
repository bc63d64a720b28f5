-- The endpoint with the pattern $1, as endpoint_of() returns it.
SELECT
    endpoint.pattern, endpoint.url, endpoint.method, endpoint.headers, endpoint.timeout, endpoint.mode, endpoint.permanent_status,
    endpoint.concurrency_key, endpoint.secret, endpoint.allow_private, endpoint.keep_response, endpoint.cloudevents,
    endpoint.trial_after, endpoint.paused, coalesce(slowed_key.one_at_a_time, false)
FROM turnstile.endpoint
LEFT JOIN turnstile.slowed_key ON slowed_key.key = endpoint.concurrency_key
WHERE endpoint.pattern = $1
