-- $1: the queue. Whether it has settings of its own, which are then all of them.
SELECT pg_catalog.to_json(EXISTS (SELECT FROM turnstile.queue WHERE queue.name = $1))::text
