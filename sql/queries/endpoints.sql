-- All endpoints and their concurrency keys, those first that win, as routes do.
SELECT endpoint.pattern, endpoint.concurrency_key
FROM turnstile.endpoint
ORDER BY char_length(replace(endpoint.pattern, '*', '')) DESC, strpos(endpoint.pattern, '*') > 0, endpoint.pattern COLLATE "C"
