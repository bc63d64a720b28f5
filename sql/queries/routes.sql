-- All routes, those first that win: the most literal characters, then no wildcard, then the name.
SELECT route.pattern, route.queue, route.priority_offset, route.override, route.concurrency_key
FROM turnstile.route
ORDER BY char_length(replace(route.pattern, '*', '')) DESC, strpos(route.pattern, '*') > 0, route.pattern COLLATE "C"
