"""Each call of the contract with something for it to do, what it then answers, and in which states it leaves the jobs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from support.calls import (
    Run, call, cancel, claim, claim_next, complete, complete_and_claim, complete_and_claim_next, complete_many, discard, enqueue, enqueue_many,
    enqueue_times, fail, release, retry, snooze,
)  # fmt: skip
from support.calls import many as call_of_many
from support.settings import configure


@dataclass(frozen=True)
class Verb:
    """`prepare` makes what `call` is about."""

    prepare: Callable[[Connection], Any]
    call: Callable[[Connection, Any], Any]
    answer: Any
    counts: dict[str, int] = field(default_factory=dict)


def nothing(conn):
    return None


def waiting(conn, **arguments):
    return Run(enqueue(conn, **arguments), 0)


def running(conn, **arguments):
    enqueue(conn, **arguments)
    return claim_next(conn)


def two_running(conn):
    enqueue_times(conn, 2)
    return claim(conn, ["default"], 2)


def running_and_waiting(conn):
    run = running(conn)
    enqueue(conn)
    return run


def finished(conn):
    run = running(conn)
    discard(conn, run)
    return run


def full(conn):
    """One that runs and fills its tenant, and one that waits for it."""
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 2, tenant="acme")
    return claim_next(conn)


def expired(conn):
    enqueue(conn)
    run = claim_next(conn, lease="1 millisecond")
    conn.execute("SELECT pg_sleep(0.01)")
    return run


def due(conn):
    enqueue(conn)
    run = claim_next(conn)
    fail(conn, run, retry_in="1 millisecond")
    conn.execute("SELECT pg_sleep(0.01)")
    return run


def off_route(conn):
    enqueue(conn)
    conn.execute("SELECT turnstile.set_route('work', 'elsewhere')")


def sent(conn):
    conn.execute("SELECT turnstile.set_endpoint('work', 'http://a.example')")
    return running(conn)


def reported(conn, run):
    conn.execute("SELECT turnstile.report_endpoint(%s, %s, 'failing')", [run.id, run.attempt])
    return conn.execute("SELECT key FROM turnstile.slowed_key").fetchall()


def rebuilt_and_claimed(conn, _):
    conn.execute("SELECT turnstile.rebuild()")
    return claim_next(conn)


def value(function: str):
    """The call with these arguments of their own, its first value."""
    return lambda conn, run: conn.execute(f"SELECT turnstile.{function}", {"id": run and run.id, "attempt": run and run.attempt}).fetchone()[0]


def kept_key(conn, run):
    return enqueue(conn, unique_key="k") == run.id


def kept_keys(conn, _):
    made = enqueue_many(conn, [{"kind": "work", "unique_key": key} for key in ("k", "l")])
    return [row.created for row in made]


def many(conn, _):
    return [row.created for row in enqueue_many(conn, [{"kind": "work"}] * 2)]


def claimed(conn, *_):
    return [(job.kind, job.attempt) for job in claim(conn, ["default"], 5)]


def claimed_one(conn, _):
    job = claim_next(conn)
    return job and (job.kind, job.attempt)


def went_on(conn, run):
    return complete_and_claim_next(conn, run).attempt


def all_went_on(conn, runs):
    return [run.attempt for run in complete_and_claim(conn, runs, ["default"], 3)]


def two_running_and_waiting(conn):
    runs = two_running(conn)
    enqueue(conn)
    return runs


CLAIMS = {
    "claim_next": Verb(waiting, claimed_one, ("work", 1), {"running": 1}),
    "claim": Verb(lambda conn: enqueue_times(conn, 2), claimed, [("work", 1)] * 2, {"running": 2}),
    "claim_next at a limit": Verb(full, claimed_one, None, {"running": 1, "available": 1}),
    "claim at a limit": Verb(full, claimed, [], {"running": 1, "available": 1}),
    "complete_and_claim_next": Verb(running_and_waiting, went_on, 1, {"completed": 1, "running": 1}),
    "complete_and_claim": Verb(two_running_and_waiting, all_went_on, [1], {"completed": 2, "running": 1}),
}
PRODUCERS = {
    "enqueue": Verb(nothing, lambda conn, _: enqueue(conn) > 0, True, {"available": 1}),
    "enqueue with a key": Verb(lambda conn: waiting(conn, unique_key="k"), kept_key, True, {"available": 1}),
    "enqueue_many": Verb(nothing, many, [True, True], {"available": 2}),
    "enqueue_many with keys": Verb(lambda conn: waiting(conn, unique_key="k"), kept_keys, [False, True], {"available": 2}),
}
ENDS = {
    "complete": Verb(running, complete, True, {"completed": 1}),
    "complete_many": Verb(two_running, complete_many, 2, {"completed": 2}),
    "complete_many with results": Verb(
        two_running, lambda conn, runs: call_of_many(conn, "complete_many", runs, results=[Jsonb(1), None]), [(2,)], {"completed": 2}
    ),
    "fail_many": Verb(
        two_running, lambda conn, runs: call_of_many(conn, "fail_many", runs, errors=["no", None], discard=[True, False]), [(2,)],
        {"discarded": 1, "retryable": 1},
    ),
    "fail": Verb(running, lambda conn, run: fail(conn, run, retry_in="1 hour"), "retryable", {"retryable": 1}),
    "fail for good": Verb(running, discard, "discarded", {"discarded": 1}),
    "release": Verb(running, release, True, {"available": 1}),
    "snooze": Verb(running, lambda conn, run: snooze(conn, run, "1 hour"), True, {"scheduled": 1}),
}
OTHERS = {
    "heartbeat": Verb(running, value("heartbeat(%(id)s, %(attempt)s)"), True, {"running": 1}),
    "heartbeat that unbinds": Verb(running, value("heartbeat(%(id)s, %(attempt)s, unbind => true)"), True, {"running": 1}),
    "heartbeat_many": Verb(
        two_running, lambda conn, runs: [row.status for row in call_of_many(conn, "heartbeat_many", runs)], ["running", "running"], {"running": 2}
    ),
    "report_endpoint": Verb(sent, reported, [("host:a.example",)], {"running": 1}),
    "progress": Verb(running, value("progress(%(id)s, %(attempt)s, 1)"), True, {"running": 1}),
    "cancel": Verb(waiting, lambda conn, run: cancel(conn, run.id), "cancelled", {"cancelled": 1}),
    "cancel a run": Verb(running, lambda conn, run: cancel(conn, run.id), "running", {"running": 1}),
    "discard": Verb(waiting, value("discard(%(id)s)"), "discarded", {"discarded": 1}),
    "retry": Verb(finished, lambda conn, run: retry(conn, run.id), "available", {"available": 1, "discarded": 1}),
    "retry of one put off": Verb(
        lambda conn: waiting(conn, run_at="2100-01-01"), lambda conn, run: retry(conn, run.id), "available", {"available": 1}
    ),
    "reprioritize": Verb(waiting, value("reprioritize(%(id)s, 7)"), True, {"available": 1}),
    "cancel_many": Verb(waiting, value("cancel_many(kind => 'work')"), 1, {"cancelled": 1}),
    "discard_many": Verb(waiting, value("discard_many(kind => 'work')"), 1, {"discarded": 1}),
    "retry_many": Verb(finished, value("retry_many(kind => 'work')"), 1, {"available": 1, "discarded": 1}),
    "delete_many": Verb(finished, value("delete_many(kind => 'work')"), 1, {}),
    "reroute": Verb(off_route, value("reroute('work')"), 1, {"available": 1}),
    "rescue": Verb(expired, value("rescue()"), 1, {"retryable": 1}),
    "promote": Verb(due, value("promote()"), 1, {"available": 1}),
    "check": Verb(full, lambda conn, _: call(conn, "check"), [], {"running": 1, "available": 1}),
}
REBUILDS = {
    "rebuild": Verb(full, rebuilt_and_claimed, None, {"running": 1, "available": 1}),
}
VERBS = PRODUCERS | CLAIMS | ENDS | OTHERS | REBUILDS


def clear(conn) -> None:
    """Leaves no job, and nothing that was set for them."""
    for table in ("job", "job_history", "tenant", "unique_key", "route", "endpoint", "slowed_key"):
        conn.execute(f"DELETE FROM turnstile.{table}")


def warm(conn) -> None:
    """Has the connection run each call before, so that it remembers whatever it remembers; no job is left."""
    for verb in VERBS.values():
        verb.call(conn, verb.prepare(conn))
        clear(conn)
