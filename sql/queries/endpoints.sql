-- All endpoints and their concurrency keys. They win as routes do.
SELECT endpoint.pattern, endpoint.concurrency_key
FROM turnstile.endpoint
