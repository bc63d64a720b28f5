"""The same rules for both workers: what a handler does is what becomes of its job."""

import logging
import threading
import time

import psycopg
import pytest

from crew import PATIENCE, Started, job, states, until
from turnstile_client import (
    AsyncWorker,
    AwaitChildren,
    Discard,
    Hooks,
    Release,
    Retry,
    Snooze,
    StopReason,
    Worker,
    enqueue,
    enqueue_many,
)


def test_results_are_kept_and_all_jobs_run_once(conn, work):
    ran = []
    work({"add": lambda run: ran.append(run.job.id) or run.payload["a"] + 1})
    added = enqueue_many(conn, [{"kind": "add", "payload": {"a": number}} for number in range(500)])
    until(lambda: states(conn) == {"completed": 500})
    assert sorted(ran) == [each.id for each in added]
    query = "SELECT count(*) FROM turnstile.jobs WHERE result = to_jsonb((payload ->> 'a')::int + 1)"
    assert conn.execute(query).fetchone() == (500,)


def test_each_outcome_is_what_the_server_makes_of_the_job(conn, work):
    def raising(error):
        def handler(run):
            raise error

        return handler

    handlers = {
        "retry": raising(Retry("later", in_=3600)), "discard": raising(Discard("no")), "snooze": raising(Snooze(3600)),
        "returned": lambda run: Discard("returned"), "error": raising(ValueError("bad \0 value")), "timeout": raising(TimeoutError("slow")),
        "release": lambda run: None if run.job.attempt > 1 else Release(),
    }  # fmt: skip
    ids = {kind: enqueue(conn, kind).id for kind in [*handlers, "unknown"]}
    work(handlers, retry={OSError: Discard("lost"), ValueError: lambda error: Retry(error, in_=3600)})
    wanted = {
        "retry": "retryable", "discard": "discarded", "snooze": "scheduled", "returned": "discarded", "error": "retryable",
        "timeout": "discarded", "release": "completed", "unknown": "retryable",
    }  # fmt: skip
    until(lambda: {kind: job(conn, ids[kind])[0] for kind in wanted} == wanted, "the states")
    assert job(conn, ids["retry"])[2] == "later"
    assert job(conn, ids["discard"])[2] == "no"
    assert job(conn, ids["error"])[2] == "bad \\0 value"
    assert job(conn, ids["timeout"])[2] == "lost"
    assert "no handler for jobs of kind 'unknown'" in job(conn, ids["unknown"])[2]


def test_retry_curves_go_by_the_class_of_the_exception(conn, work):
    class NoSuchNumber(Exception):
        pass

    def handler(run):
        raise {"number": NoSuchNumber("7"), "named": Retry("busy", error_class="carrier busy")}.get(run.kind, OSError("gone"))

    conn.execute("SELECT turnstile.set_retry_curve('*', 'NoSuchNumber', discard => true)")
    ids = {kind: enqueue(conn, kind, max_attempts=5).id for kind in ["number", "named", "other"]}
    work({"*": handler})
    until(lambda: all(job(conn, each)[2] for each in ids.values()), "all to fail")
    classes = "SELECT errors -> -1 ->> 'class' FROM turnstile.jobs WHERE id = %s"
    found = {kind: (job(conn, each)[0], *conn.execute(classes, [each]).fetchone()) for kind, each in ids.items()}
    assert found == {"number": ("discarded", "NoSuchNumber"), "named": ("retryable", "carrier busy"), "other": ("retryable", "OSError")}


@pytest.mark.parametrize("result", [float("nan"), "\0", object()], ids=["NaN", "NUL", "no JSON"])
def test_a_result_that_cannot_be_kept_fails_the_run_and_no_other(conn, work, result):
    bad, good = enqueue(conn, "bad", max_attempts=1).id, enqueue(conn, "good").id
    work({"bad": lambda run: result, "good": lambda run: "fine"})
    until(lambda: (job(conn, bad)[0], job(conn, good)[0]) == ("discarded", "completed"), "both to end")
    assert job(conn, good)[1] == "fine"


def test_a_run_waits_for_its_children(dsn, conn, work):
    def parent(run):
        if run.job.children is not None:
            return run.job.children
        with psycopg.connect(dsn) as own:
            for _ in range(3):
                enqueue(own, "child", parent=run.job.id)
        raise AwaitChildren

    work({"parent": parent, "child": lambda run: None})
    job_id = enqueue(conn, "parent").id
    until(lambda: job(conn, job_id)[0] == "completed")
    assert job(conn, job_id)[1] == {"completed": 3, "discarded": 0, "cancelled": 0}


def test_who_waits_for_children_that_have_ended_goes_on_at_once(dsn, conn, work):
    seen = []

    def parent(run):
        seen.append((run.job.attempt, run.job.children))
        if run.job.children is None:
            with psycopg.connect(dsn, autocommit=True) as own:
                child = enqueue(own, "child", parent=run.job.id, queue="other").id
                own.execute("SELECT turnstile.discard(%s)", [child])
            raise AwaitChildren
        return run.job.children

    work({"parent": parent})
    job_id = enqueue(conn, "parent").id
    until(lambda: job(conn, job_id)[0] == "completed")
    ended = {"completed": 0, "discarded": 1, "cancelled": 0}
    assert (job(conn, job_id)[1], seen) == (ended, [(1, None), (1, ended)])


def test_who_waits_for_no_children_fails(conn, work):
    work({"parent": lambda run: AwaitChildren()})
    job_id = enqueue(conn, "parent", max_attempts=1).id
    until(lambda: job(conn, job_id)[0] == "discarded")
    assert "the job has none" in job(conn, job_id)[2]


def test_a_run_hears_of_its_cancellation(conn, work):
    heard = []

    def handler(run):
        assert run.wait_for_stop(PATIENCE)
        heard.append(run.stopped)
        run.check()

    work({"long": handler}, heartbeat=0.1)
    job_id = enqueue(conn, "long").id
    until(lambda: job(conn, job_id)[0] == "running")
    conn.execute("SELECT turnstile.cancel(%s)", [job_id])
    until(lambda: job(conn, job_id)[0] == "cancelled")
    assert heard == [StopReason.CANCELLED]


def test_heartbeats_keep_long_runs_alive(conn, work):
    over = threading.Event()
    work({"long": lambda run: over.wait(PATIENCE)}, lease=1)
    job_id = enqueue(conn, "long").id
    until(lambda: job(conn, job_id)[0] == "running")
    first = conn.execute("SELECT lease_expires_at FROM turnstile.job").fetchone()
    until(lambda: conn.execute("SELECT lease_expires_at > %s + interval '2 seconds' FROM turnstile.job", first).fetchone()[0])
    assert conn.execute("SELECT turnstile.rescue()").fetchone() == (0,)
    over.set()
    until(lambda: job(conn, job_id) == ("completed", True, None, 1))


def test_who_has_lost_its_run_is_told_and_ends_nothing(conn, work):
    stopped = []

    def handler(run):
        if run.job.attempt == 1:
            run.wait_for_stop(PATIENCE)
            stopped.append(run.stopped)
            return "old"
        return "new"

    work({"long": handler}, heartbeat=0.1)
    job_id = enqueue(conn, "long").id
    until(lambda: job(conn, job_id)[0] == "running")
    conn.execute("SELECT turnstile.fail(%s, 1, 'taken away', '0')", [job_id])
    until(lambda: job(conn, job_id)[:2] == ("completed", "new"))
    until(lambda: stopped == [StopReason.LOST])


def test_a_soft_stop_lets_runs_end(conn, work):
    over = threading.Event()
    worker = work({"long": lambda run: over.wait(PATIENCE)}, concurrency=1)
    first = enqueue(conn, "long").id
    until(lambda: job(conn, first)[0] == "running")
    second = enqueue(conn, "long").id
    threading.Timer(0.3, over.set).start()
    worker.stop()
    assert (job(conn, first)[0], job(conn, second)[0]) == ("completed", "available")


def test_a_hard_stop_tells_them_and_gives_back_what_goes_on(conn, work):
    over, told = threading.Event(), []

    def listens(run):
        run.wait_for_stop(PATIENCE)
        told.append(run.stopped)
        raise Release

    worker = work({"listens": listens, "deaf": lambda run: over.wait(PATIENCE)}, grace=0.3)
    ids = [enqueue(conn, "listens").id, enqueue(conn, "deaf").id]
    until(lambda: states(conn) == {"running": 2})
    stopper = threading.Thread(target=worker.stop, args=[True])
    stopper.start()
    until(lambda: states(conn) == {"available": 2})
    over.set()
    stopper.join(PATIENCE)
    assert told == [StopReason.SHUTDOWN]
    query = "SELECT bool_and(attempt = uncounted) FROM turnstile.job WHERE id = ANY (%s)"
    assert conn.execute(query, [ids]).fetchone() == (True,)


def test_what_is_given_back_or_cancelled_is_not_logged_as_failed(conn, work, caplog):
    def interrupted(run):
        assert run.wait_for_stop(PATIENCE)
        raise RuntimeError("interrupted")

    caplog.set_level(logging.INFO, "turnstile")
    worker = work({"*": interrupted}, heartbeat=0.1)
    cancelled, stopped = enqueue(conn, "a").id, enqueue(conn, "b").id
    until(lambda: states(conn) == {"running": 2})
    conn.execute("SELECT turnstile.cancel(%s)", [cancelled])
    until(lambda: job(conn, cancelled)[0] == "cancelled")
    worker.stop(hard=True)
    assert job(conn, stopped)[0] == "available"
    logged = [(record.levelname, record.getMessage()) for record in caplog.records if "told to stop" not in record.getMessage()]
    assert logged == [("INFO", f"attempt 1 of job {cancelled} (a) is cancelled"), ("INFO", f"attempt 1 of job {stopped} (b) is given back")]


def test_lost_connections_lose_nothing(conn, work):
    over = threading.Event()
    work({"long": lambda run: over.wait(PATIENCE), "short": lambda run: None})
    job_id = enqueue(conn, "long").id
    until(lambda: job(conn, job_id)[0] == "running")
    terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for _ in range(3):
        conn.execute(terminate)
        enqueue_many(conn, [{"kind": "short"}] * 20)
        time.sleep(0.1)
    over.set()
    until(lambda: states(conn) == {"completed": 61})
    assert job(conn, job_id) == ("completed", True, None, 1)


def test_an_end_that_a_trigger_refuses_is_told_again_and_keeps_no_other(conn, work):
    conn.execute("CREATE TABLE closed (); CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                 " IF OLD.kind = 'bad' AND to_regclass('public.closed') IS NOT NULL THEN RAISE 'closed'; END IF; RETURN OLD; END$$")  # fmt: skip
    conn.execute("CREATE TRIGGER no BEFORE DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION no()")
    bad = enqueue(conn, "bad").id
    enqueue_many(conn, [{"kind": "good"}] * 10)
    work({"*": lambda run: run.job.kind})
    until(lambda: states(conn) == {"completed": 10, "running": 1})
    conn.execute("DROP TABLE closed")
    until(lambda: job(conn, bad) == ("completed", "bad", None, 1))


def test_progress_is_seen(conn, work):
    over = threading.Event()

    def handler(run):
        run.progress(1, 2, "half")
        over.wait(PATIENCE)

    work({"long": handler}, heartbeat=0.1)
    enqueue(conn, "long")
    until(lambda: conn.execute("SELECT progress ->> 'message' FROM turnstile.job").fetchone() == ("half",))
    over.set()


def test_hooks_hear_of_runs_and_may_fail(conn, work):
    heard = []

    class Failing(Hooks):
        def claimed(self, runs):
            heard.extend((run.kind, "claimed") for run in runs)
            raise RuntimeError("hook")

        def around(self, run):
            raise RuntimeError("hook")

        def ended(self, run, ending, seconds):
            heard.append((run.job.kind, ending.verb))
            raise RuntimeError("hook")

        def idle(self):
            raise SystemExit

    work({"a": lambda run: None}, hooks=Failing())
    enqueue(conn, "a")
    until(lambda: states(conn) == {"completed": 1})
    assert heard == [("a", "claimed"), ("a", "complete")]


def test_who_is_idle_has_two_connections(conn, work):
    work({})
    other = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    until(lambda: conn.execute(other + " AND wait_event_type = 'Extension'").fetchone() == (1,))
    assert conn.execute(other + " AND backend_type = 'client backend'").fetchone() == (2,)


def test_a_connection_string_that_is_none_ends_the_worker(kind, work):
    worker = work({}, dsn="no such=thing")
    worker.thread.join(PATIENCE)
    assert isinstance(worker.error, psycopg.ProgrammingError)


def test_a_missing_permission_ends_the_worker(dsn, conn, work):
    conn.execute("CREATE ROLE turnstile_nobody LOGIN")
    try:
        worker = Started("threads", psycopg.conninfo.make_conninfo(dsn, user="turnstile_nobody"), {})
        worker.thread.join(PATIENCE)
        assert worker.error.sqlstate == "42501"
    finally:
        conn.execute("DROP ROLE turnstile_nobody")


@pytest.mark.parametrize("settings", [{"queues": []}, {"concurrency": 0}, {"lease": 0}, {"wait": 0}, {"queues": ["q"] * 33}])
def test_bad_settings_are_refused(settings):
    for worker in (Worker, AsyncWorker):
        with pytest.raises(ValueError):
            worker("", {}, **settings)
