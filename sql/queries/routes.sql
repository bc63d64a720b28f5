-- All routes. Which of them wins, src/job/patterns.rs says.
SELECT route.pattern, route.queue, route.priority_offset, route.override, route.concurrency_key
FROM turnstile.route
