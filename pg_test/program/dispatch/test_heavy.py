"""A heavy kind is routed to two at a time while thousands of it wait and light jobs flow: those flow as before at once."""

import contextlib
import threading
import time
from statistics import median

import pytest

from support.calls import call, enqueue, enqueue_many
from support.dispatch import set_endpoint
from support.endpoints import most_at_once
from support.sleepers import until

AT_ONCE = 20
# Seconds within which the change must show, and a wait that is short whatever else runs on the machine.
SOON, SHORT = 1.0, 0.05
LATEST = """
SELECT extract(epoch FROM claimed_at - created_at)::float8 FROM turnstile.job_history
 WHERE kind = 'light' ORDER BY id DESC LIMIT 20
"""
WAITING = "SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8 FROM turnstile.job WHERE kind = 'light' AND state = 'available'"
# Of each light job since a time: how long after it the job came, and how long it waited.
SINCE = """
SELECT extract(epoch FROM created_at - %(since)s)::float8, extract(epoch FROM claimed_at - created_at)::float8 FROM turnstile.job_history
 WHERE kind = 'light' AND created_at > %(since)s ORDER BY id
"""
NOW = "SELECT clock_timestamp()"


@contextlib.contextmanager
def light_jobs(db):
    """One after the other, by a producer of its own."""
    over, producer = threading.Event(), db.connect()

    def produce() -> None:
        while not over.wait(0.02):
            enqueue(producer, "light", queue="http")

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def latency(conn) -> float | None:
    """The median of what the latest light jobs have waited; None: too few are done."""
    rows = conn.execute(LATEST).fetchall()
    return median(value for (value,) in rows) if len(rows) == 20 else None


def waits_from(conn, since, offset: float) -> list[float]:
    """What light jobs have waited that came so many seconds after the change or later."""
    return [wait for came, wait in conn.execute(SINCE, {"since": since}).fetchall() if came >= offset]


def last_long(conn, since) -> float:
    return max((round(came, 2) for came, wait in conn.execute(SINCE, {"since": since}).fetchall() if wait > SHORT), default=0.0)


def heavy(endpoints) -> list:
    return [request for request in endpoints.requests if request.headers["turnstile-kind"] == "heavy"]


@pytest.mark.long
def test_light_jobs_flow_while_a_heavy_kind_is_put_aside(db, conn, dispatch, endpoints):
    set_endpoint(conn, "heavy", endpoints.url("slow"))
    set_endpoint(conn, "light", endpoints.url("fast"))
    endpoints.seconds = 0.5
    for _ in range(2):
        dispatch("--queues", "http,heavy", "--concurrency", AT_ONCE // 2)
    with light_jobs(db):
        until(lambda: latency(conn) is not None, "light jobs flow")
        normal = latency(conn)
        enqueue_many(conn, [{"kind": "heavy", "queue": "http"}] * 5000)
        slow = max(20 * normal, 1.0)
        until(lambda: (conn.execute(WAITING).fetchone()[0] or 0) > slow, "light jobs wait behind heavy ones")
        call(conn, "set_concurrency", key="heavy", slots=2)
        call(conn, "set_route", pattern="heavy", queue="heavy", concurrency_key="heavy", override=True)
        moved, changed = reroute_all(conn), time.monotonic()
        assert moved > 4000
        since = conn.execute(NOW).fetchone()[0]
        until(lambda: len(waits_from(conn, since, SOON)) >= 50, "light jobs flow again", lambda: len(waits_from(conn, since, 0)))
        again = median(waits_from(conn, since, SOON))
        print(f"median wait {normal:.4f} s before, {again:.4f} s from {SOON} s after the change on")
        print(f"the last that waited long came {last_long(conn, since)} s after it")
        assert again < max(10 * normal, SHORT)
        before = [request for request in heavy(endpoints) if request.begun < changed]
        until(lambda: all(request.ended for request in before), "the heavy ones of before have ended")
        settled = max(request.ended for request in before)
        at_least = len(heavy(endpoints)) + 10
        until(lambda: len(heavy(endpoints)) > at_least, "heavy jobs go on")
    late = [request for request in heavy(endpoints) if request.begun > settled]
    assert most_at_once(late) == 2


def reroute_all(conn) -> int:
    moved = 0
    while part := call(conn, "reroute", pattern="heavy")[0][0]:
        moved += part
    return moved
