"""A heavy kind is routed to two at a time while thousands of it wait and light jobs flow: those flow as before at once."""

import contextlib
import threading
import time
from statistics import median

import pytest

from support.calls import call, enqueue, enqueue_many
from support.dispatch import set_endpoint
from support.endpoints import most_at_once
from support.sleepers import PATIENCE, until

AT_ONCE = 20
LATEST = """
SELECT extract(epoch FROM claimed_at - created_at)::float8 FROM turnstile.job_history
 WHERE kind = 'light' AND id > %s ORDER BY id DESC LIMIT 20
"""
WAITING = "SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8 FROM turnstile.job WHERE kind = 'light' AND state = 'available'"
LAST = "SELECT coalesce(max(id), 0) FROM turnstile.jobs"


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


def latency(conn, since: int) -> float | None:
    """The median of what the latest light jobs have waited, of those that came behind another; None: too few are done."""
    rows = conn.execute(LATEST, [since]).fetchall()
    return median(value for (value,) in rows) if len(rows) == 20 else None


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
        until(lambda: latency(conn, 0) is not None, "light jobs flow")
        normal = latency(conn, 0)
        enqueue_many(conn, [{"kind": "heavy", "queue": "http"}] * 5000)
        slow = max(20 * normal, 1.0)
        until(lambda: (conn.execute(WAITING).fetchone()[0] or 0) > slow, "light jobs wait behind heavy ones")
        call(conn, "set_concurrency", key="heavy", slots=2)
        call(conn, "set_route", pattern="heavy", queue="heavy", concurrency_key="heavy", override=True)
        moved, changed = reroute_all(conn), time.monotonic()
        assert moved > 4000
        since = conn.execute(LAST).fetchone()[0]
        back = max(10 * normal, 0.25)
        until(lambda: (latency(conn, since) or PATIENCE) < back, "light jobs wait no longer than before", lambda: latency(conn, since))
        print(f"median wait {normal:.4f} s before, {latency(conn, since):.4f} s after; back {time.monotonic() - changed:.1f} s after the change")
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
