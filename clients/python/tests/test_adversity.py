"""What goes wrong around a worker, and what it makes of it."""

import asyncio
import os
import threading
import time

import psycopg
import pytest
from support.pgbouncer import pgbouncer
from support.relay import Relay

from crew import PATIENCE, Started, job, states, until
from turnstile_client import AsyncWorker, Discard, Retry, Snooze, StopReason, Undelivered, enqueue, enqueue_many


def of(dsn, **parts):
    return psycopg.conninfo.make_conninfo(dsn, **parts)


@pytest.fixture
def relay(dsn):
    """Where the server can be lost for the worker alone."""
    relay = Relay()
    yield relay
    relay.cut()


def through(relay, dsn):
    return of(dsn, host="127.0.0.1", port=relay.port, user=os.environ["PGUSER"])


# ---- values


def test_a_payload_that_cannot_be_read_fails_its_own_run(conn, work):
    deep = 20_000
    conn.execute("SET max_stack_depth = '7MB'")
    conn.execute("SELECT turnstile.enqueue('deep', (repeat('[', %s) || repeat(']', %s))::jsonb, max_attempts => 1)", [deep // 4, deep // 4])
    many_digits = enqueue(conn, "digits", max_attempts=1).id
    conn.execute("UPDATE turnstile.job SET payload = repeat('9', 5000)::jsonb WHERE id = %s", [many_digits])
    enqueue_many(conn, [{"kind": "good", "payload": {"ä\n\u2028": "\U0001f600 \ud83d\ude00"}}] * 5)
    work({"*": lambda run: str(run.payload)[:10]}, concurrency=7)
    until(lambda: states(conn).get("completed", 0) >= 5)
    until(lambda: "running" not in states(conn) and "available" not in states(conn))
    # What can be read depends on the version of Python; no run is lost in any case.
    assert sum(states(conn).values()) == 7


@pytest.mark.parametrize(
    "ending", [Retry("x", in_=1e11), Snooze(-5), Retry("\ud800 \0"), Discard("x" * 10_000_000), ValueError("y" * 10_000_000)],
    ids=["too late", "negative", "no text", "long", "long error"],
)  # fmt: skip
def test_an_end_that_cannot_be_told_fails_the_run_and_keeps_no_other(conn, work, ending):
    def bad(run):
        raise ending

    ids = [enqueue(conn, "bad", max_attempts=1).id, *(each.id for each in enqueue_many(conn, [{"kind": "good"}] * 3))]
    work({"bad": bad, "good": lambda run: None})
    until(lambda: [job(conn, each)[0] for each in ids] == ["discarded", "completed", "completed", "completed"])


def test_a_long_error_keeps_its_beginning_and_its_end(conn, work):
    def fails(run):
        raise ValueError("begins " + "y" * 10_000 + " ends")

    job_id = enqueue(conn, "bad", max_attempts=1).id
    work({"bad": fails})
    until(lambda: job(conn, job_id)[0] == "discarded")
    error = job(conn, job_id)[2]
    assert error.startswith("ValueError: begins") and error.rstrip().endswith("ends") and len(error) <= 4000


def test_a_result_that_is_too_long_fails_its_own_run(conn, work):
    big, good = enqueue(conn, "big", max_attempts=1).id, enqueue(conn, "good").id
    work({"big": lambda run: "x" * 300_000_000 if run.payload is None else "x" * 20_000_000, "good": lambda run: None})
    until(lambda: (job(conn, big)[0], job(conn, good)[0]) == ("discarded", "completed"))


def test_a_rule_that_fails_fails_the_run(conn, work):
    job_id = enqueue(conn, "bad", max_attempts=1).id
    work({"bad": lambda run: 1 / 0}, retry={ArithmeticError: lambda error: error.no_such_thing})
    until(lambda: job(conn, job_id)[0] == "discarded")
    assert "ZeroDivisionError" in job(conn, job_id)[2] and "no_such_thing" in job(conn, job_id)[2]


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_what_ends_a_process_ends_only_the_run(conn, work, error):
    def bad(run):
        raise error

    job_id = enqueue(conn, "bad", max_attempts=1).id
    work({"bad": bad})
    until(lambda: job(conn, job_id)[0] == "discarded")


# ---- the server


def test_a_locked_job_keeps_neither_others_nor_their_heartbeats(dsn, conn, work):
    go_on = threading.Event()
    work({"locked": lambda run: go_on.wait(PATIENCE), "long": lambda run: run.wait_for_stop(PATIENCE)}, lease=15)
    locked, long = enqueue(conn, "locked").id, enqueue(conn, "long").id
    until(lambda: states(conn) == {"running": 2})
    with psycopg.connect(dsn) as blocker:
        blocker.execute("SELECT FROM turnstile.job WHERE id = %s FOR UPDATE", [locked])
        go_on.set()
        first = conn.execute("SELECT lease_expires_at FROM turnstile.job WHERE id = %s", [long]).fetchone()
        query = "SELECT lease_expires_at > %s + interval '12 seconds' FROM turnstile.job WHERE id = %s"
        until(lambda: conn.execute(query, [*first, long]).fetchone()[0])
        quick = enqueue(conn, "quick").id
        until(lambda: job(conn, quick)[0] == "retryable")
    until(lambda: job(conn, locked)[0] == "completed")
    assert job(conn, long)[0] == "running"


def test_serializable_by_default_is_no_hindrance(conn, work):
    conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_isolation = 'serializable'")
    enqueue_many(conn, [{"kind": "a"}] * 20)
    work({"a": lambda run: 1})
    until(lambda: states(conn) == {"completed": 20})


def test_a_server_that_takes_no_writes_is_waited_for(conn, work):
    set_read_only = f"ALTER DATABASE {conn.info.dbname} SET default_transaction_read_only = "
    conn.execute(set_read_only + "on")
    conn.execute("SET default_transaction_read_only = off")
    job_id = enqueue(conn, "a").id
    work({"a": lambda run: 1})
    time.sleep(0.5)
    assert job(conn, job_id)[0] == "available"
    conn.execute(set_read_only + "off")
    until(lambda: job(conn, job_id)[0] == "completed")


def test_a_worker_waits_for_its_server(dsn, conn, work, relay):
    relay.cut()
    job_id = enqueue(conn, "a").id
    worker = work({"a": lambda run: 1}, dsn=through(relay, dsn))
    time.sleep(0.5)
    assert worker.thread.is_alive()
    relay.open()
    until(lambda: job(conn, job_id)[0] == "completed")


def test_ends_are_told_after_an_outage_and_leases_end_by_the_workers_own_clock(dsn, conn, work, relay):
    stopped, go_on, done = [], threading.Event(), threading.Event()

    def waits(run):
        run.wait_for_stop(PATIENCE)
        stopped.append(run.stopped)
        run.check()

    def quick(run):
        go_on.wait(PATIENCE)
        done.set()
        return "told"

    conn.execute("SELECT turnstile.set_queue('long', lease => '1 hour')")
    worker = work({"waits": waits, "quick": quick}, dsn=through(relay, dsn), queues=["default", "long"])
    conn.execute("SELECT turnstile.set_queue('default', lease => '2 seconds')")
    lost, kept = enqueue(conn, "waits", max_attempts=1).id, enqueue(conn, "quick", queue="long").id
    until(lambda: states(conn) == {"running": 2})
    relay.cut()
    go_on.set()
    assert done.wait(PATIENCE)
    until(lambda: stopped == [StopReason.LOST])
    relay.open()
    until(lambda: job(conn, kept) == ("completed", "told", None, 1))
    worker.stop()
    assert worker.error is None
    assert job(conn, lost)[0] in ("running", "discarded", "retryable")


@pytest.mark.parametrize("hard", [False, True])
def test_who_cannot_tell_its_ends_says_so(dsn, conn, kind, work, relay, hard, monkeypatch):
    monkeypatch.setattr("turnstile_client.telling.LAST_ENDS", 1)
    monkeypatch.setattr("turnstile_client.life.LAST_ANSWER", 0.5)
    over = threading.Event()
    worker = work({"a": lambda run: over.wait(PATIENCE)}, dsn=through(relay, dsn), grace=5)
    job_id = enqueue(conn, "a").id
    until(lambda: job(conn, job_id)[0] == "running")
    both = "SELECT count(*) = 3 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    until(lambda: conn.execute(both).fetchone()[0])
    relay.cut()
    over.set()
    worker.stop(hard=hard)
    assert isinstance(worker.error, Undelivered) and worker.error.runs == 1


def test_all_goes_through_pgbouncer(dsn, conn, work):
    heard = []

    def long(run):
        assert run.wait_for_stop(PATIENCE)
        heard.append(run.stopped)
        run.check()

    with pgbouncer(conn.info.dbname) as pooler:
        pooled = of(dsn, host="127.0.0.1", port=pooler.port, user=os.environ["PGUSER"])
        workers = [work({"long": long, "*": lambda run: run.kind}, dsn=pooled, heartbeat=0.2) for _ in range(3)]
        cancelled = enqueue(conn, "long").id
        enqueue_many(conn, [{"kind": "short"}] * 300)
        until(lambda: states(conn) == {"completed": 300, "running": 1})
        conn.execute("SELECT turnstile.cancel(%s)", [cancelled])
        until(lambda: states(conn) == {"completed": 300, "cancelled": 1})
        enqueue_many(conn, [{"kind": "short"}] * 10)
        until(lambda: states(conn) == {"completed": 310, "cancelled": 1})
        for worker in workers:
            worker.stop()
            assert worker.error is None
    assert heard == [StopReason.CANCELLED]


def test_what_was_lost_in_a_stall_does_not_begin(dsn, conn):
    """The first handler blocks the loop, and with it the heartbeats, for longer than the lease."""
    began = []

    async def handler(run):
        began.append((run.kind, run.job.attempt))
        if (run.kind, run.job.attempt) == ("blocks", 1):
            time.sleep(1.5)  # noqa: ASYNC251

    conn.execute("SELECT turnstile.set_queue('*', retry_base => '10 milliseconds')")
    enqueue_many(conn, [{"kind": "blocks"}, {"kind": "late"}])
    worker = AsyncWorker(dsn, {"*": handler}, lease=1)
    thread = threading.Thread(target=lambda: asyncio.run(worker.run(signals=False)), daemon=True)
    thread.start()
    until(lambda: conn.execute("SELECT turnstile.rescue()") and states(conn) == {"completed": 2})
    worker.stop()
    thread.join(PATIENCE)
    assert (began[0], [each for each in began if each[0] == "late"]) == (("blocks", 1), [("late", 2)])


class Slots:
    """So many connections of the worker are let in."""

    def __init__(self, kind, dsn, free):
        self.kind, self.dsn, self.free, self.refused = kind, dsn, free, 0

    def connect(self):
        if self.free == 0:
            self.refused += 1
            raise psycopg.OperationalError("sorry, too many clients already")
        self.free -= 1
        return (psycopg.AsyncConnection if self.kind == "async" else psycopg.Connection).connect(self.dsn)


def test_nothing_is_claimed_while_no_run_could_say_that_it_is_alive(dsn, conn, kind, work):
    slots = Slots(kind, dsn, free=1)
    worker = work({"long": lambda run: run.wait_for_stop(2)}, dsn=slots.connect, lease=1)
    job_id = enqueue(conn, "long").id
    until(lambda: slots.refused > 2)
    assert job(conn, job_id)[::3] == ("available", 0)
    slots.free = 1
    until(lambda: job(conn, job_id) == ("completed", False, None, 1))
    worker.stop()
    assert worker.error is None


def test_the_same_where_the_way_is_lost_later(dsn, conn, kind, work):
    slots = Slots(kind, dsn, free=2)
    work({"long": lambda run: run.wait_for_stop(6)}, dsn=slots.connect, lease=5)
    first = enqueue(conn, "long").id
    beats = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%heartbeat%' AND datname = current_database()"
    until(lambda: conn.execute(beats + " AND pid <> pg_backend_pid()").fetchall())
    until(lambda: slots.refused)
    second = enqueue(conn, "long").id
    time.sleep(0.5)
    assert job(conn, second)[::3] == ("available", 0)
    slots.free = 1
    until(lambda: states(conn) == {"completed": 2})
    assert (job(conn, first)[3], job(conn, second)[3]) == (1, 1)


def test_a_worker_that_waits_for_its_way_back_stops_at_once(dsn, kind, work):
    slots = Slots(kind, dsn, free=1)
    worker = work({}, dsn=slots.connect)
    until(lambda: slots.refused > 5)
    began = time.monotonic()
    worker.stop()
    assert worker.error is None and time.monotonic() < began + 1.5


# ---- stops


def test_a_stop_at_any_moment_wakes_the_sleeper(dsn, conn, kind):
    for number in range(10):
        worker = Started(kind, dsn, {"a": lambda run: None}, wait=PATIENCE * 10)
        enqueue_many(conn, [{"kind": "a"}] * (number % 3))
        time.sleep(number * 0.01)
        worker.stop()
        assert worker.error is None
    assert "running" not in states(conn)


def test_a_cancelled_run_that_does_not_stop_is_ended_by_force_where_that_can_be(conn, kind, work):
    over = threading.Event()
    work({"deaf": lambda run: over.wait(PATIENCE)}, heartbeat=0.1, grace=0.2)
    job_id = enqueue(conn, "deaf").id
    until(lambda: job(conn, job_id)[0] == "running")
    conn.execute("SELECT turnstile.cancel(%s)", [job_id])
    if kind == "async":
        until(lambda: job(conn, job_id)[0] == "cancelled")
    over.set()
    # A thread cannot be ended. It has the last word.
    until(lambda: job(conn, job_id)[0] == ("cancelled" if kind == "async" else "completed"))


def test_who_is_told_to_leave_and_fails_gives_the_job_back(conn, work):
    def leaves(run):
        assert run.wait_for_stop(PATIENCE)
        run.check()

    worker = work({"a": leaves}, drain=0)
    job_id = enqueue(conn, "a", max_attempts=1).id
    until(lambda: job(conn, job_id)[0] == "running")
    worker.stop()
    assert job(conn, job_id)[0] == "available"


def test_a_thread_that_was_given_up_is_not_waited_for(conn, kind, work):
    if kind == "async":
        pytest.skip("a coroutine is cancelled")
    over = threading.Event()
    worker = work({"deaf": lambda run: over.wait(PATIENCE * 2)}, heartbeat=0.1, grace=0.1, drain=PATIENCE * 2)
    job_id = enqueue(conn, "deaf").id
    until(lambda: job(conn, job_id)[0] == "running")
    conn.execute("SELECT turnstile.cancel(%s)", [job_id])
    time.sleep(0.5)
    worker.stop()
    assert job(conn, job_id)[0] == "cancelled"
    over.set()
