"""The SQL of the library. Nothing relies on a session, so all of it may go through PgBouncer in transaction mode."""

CLAIM = """
SELECT claimed.*, clock_timestamp() AS now
FROM turnstile.claim(%(queues)s::text[], %(room)s, %(worker)s, %(lease)s) AS claimed
"""
COMPLETE_AND_CLAIM = """
SELECT claimed.*, clock_timestamp() AS now
FROM turnstile.complete_and_claim(
    %(ids)s::bigint[], %(attempts)s::int[], %(queues)s::text[], %(room)s, %(worker)s, %(lease)s, results => %(results)s::jsonb[]
) AS claimed
"""
SLEEP = "CALL turnstile.wait_for_job(%(queues)s::text[], %(wait)s)"
COMPLETE_MANY = "SELECT turnstile.complete_many(%(ids)s::bigint[], %(attempts)s::int[], %(results)s::jsonb[])"
FAIL_MANY = """
SELECT turnstile.fail_many(
    %(ids)s::bigint[], %(attempts)s::int[], %(errors)s::text[], %(times)s::interval[], %(discards)s::boolean[]
)
"""
HEARTBEAT_MANY = "SELECT ord, status FROM turnstile.heartbeat_many(%(ids)s::bigint[], %(attempts)s::int[], %(lease)s)"
SNOOZE = "SELECT turnstile.snooze(%(id)s, %(attempt)s, %(time)s)"
RELEASE = "SELECT turnstile.release(%(id)s, %(attempt)s)"
AWAIT_CHILDREN = "SELECT turnstile.await_children(%(id)s, %(attempt)s)"
PROGRESS = "SELECT turnstile.progress(%(id)s, %(attempt)s, %(done)s, %(total)s, %(message)s)"
