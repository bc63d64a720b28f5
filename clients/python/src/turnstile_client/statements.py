"""The SQL of a worker. Nothing relies on a session, so all of it may go through PgBouncer in transaction mode.

Calls wait for row locks no longer than `lock_timeout`, or one run would hold up all others and their heartbeats. An argument sets it, for
the transaction.
"""

from __future__ import annotations

from typing import Any

Statement = tuple[str, dict[str, Any]]
Rows = list[tuple[Any, ...]]

# As turnstile_client.run.Job.of reads them. JSON comes as text: what cannot be read must fail its own run, and no other.
JOB = """
    id, attempt, queue, kind, payload::text, priority, tenant, account, session, max_attempts, lease_expires_at, created_at,
    metadata::text, children::text, attempts_left
"""
_LEASE = "extract(epoch FROM lease_expires_at - clock_timestamp())::float8"


def _patient(argument: str) -> str:
    return f"CASE WHEN pg_catalog.set_config('lock_timeout', '2s', true) <> '' THEN {argument} END"


_RUNS = f"{_patient('%(ids)s::bigint[]')}, %(attempts)s::int[]"
_RUN = f"{_patient('%(id)s::bigint')}, %(attempt)s::int"

CLAIM = f"""
SELECT {_LEASE}, {JOB} FROM turnstile.claim(%(queues)s::text[], %(room)s::int, %(worker)s::text, %(lease)s::interval)
"""
COMPLETE_AND_CLAIM = f"""
SELECT {_LEASE}, {JOB} FROM turnstile.complete_and_claim(
    {_RUNS}, %(queues)s::text[], %(room)s::int, %(worker)s::text, %(lease)s::interval, results => %(results)s::jsonb[]
)
"""
SLEEP = "CALL turnstile.wait_for_job(%(queues)s::text[], %(wait)s::interval)"
COMPLETE_MANY = f"SELECT turnstile.complete_many({_RUNS}, %(results)s::jsonb[])"
FAIL_MANY = f"""
SELECT turnstile.fail_many({_RUNS}, %(errors)s::text[], %(times)s::interval[], %(discards)s::boolean[], %(classes)s::text[])
"""
HEARTBEAT_MANY = f"SELECT ord, status FROM turnstile.heartbeat_many({_RUNS}, %(lease)s::interval)"
SNOOZE = f"SELECT turnstile.snooze({_RUN}, %(time)s::interval)"
RELEASE = f"SELECT turnstile.release({_RUN})"
AWAIT_CHILDREN = f"SELECT turnstile.await_children({_RUN})"
CHILDREN = """
SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state = 'discarded'), count(*) FILTER (WHERE state = 'cancelled')
FROM turnstile.batch_results(%(id)s::bigint)
"""
PROGRESS = f"SELECT turnstile.progress({_RUN}, %(done)s::numeric, %(total)s::numeric, %(message)s::text)"
IS_READ_ONLY = "SELECT pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::boolean"
