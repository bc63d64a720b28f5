"""The worker runtime for Rust, crates/client, by a worker that uses all of it."""

import os
import signal

import pytest

from faults.cluster import own_cluster, wait_until_up
from support.calls import call, enqueue, enqueue_many
from support.database import fresh_database
from support.ended import await_counts, await_state, counts, error_classes, errors, result, state
from support.pgbouncer import pgbouncer
from support.sleepers import await_asleep, until
from support.work import Library


def url(database: str, port: str | int | None = None) -> str:
    return f"postgresql://{os.environ['PGUSER']}@127.0.0.1:{port or os.environ['PGPORT']}/{database}"


@pytest.fixture
def library(db, conn):
    """Starts workers; in the end those that still run are killed."""
    call(conn, "set_queue", name="*", retry_base="1 hour", retry_cap="1 hour")
    started = []

    def start(**settings) -> Library:
        started.append(Library(url(db.name), **settings))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def prints(worker, line: str) -> None:
    until(lambda: line in worker.stdout().splitlines(), line, lambda: worker.stdout() + worker.stderr())


def test_payloads_and_results_have_types(conn, library):
    good, wrong, unknown = enqueue(conn, "sum", payload={"a": 3, "b": 4}), enqueue(conn, "sum", payload={"a": "x"}), enqueue(conn, "other")
    library()
    await_counts(conn, completed=1, retryable=2)
    assert result(conn, good) == 7
    assert "the payload is not as its kind has it" in errors(conn, wrong)[0]
    assert errors(conn, unknown) == ["no handler for the kind other"]


@pytest.mark.parametrize(
    "kind, payload, ends, error, error_class",
    [
        ("retry", 1000.0, "retryable", "busy", "line busy"),
        ("discard", "no such user", "discarded", "no such user", None),
        ("fail", "a bug", "retryable", "a bug", None),
        ("nul", "a", "retryable", "a\ufffdb", None),
        ("panics", "a bug", "retryable", "the handler has panicked: a bug", "panic"),
    ],
)
def test_what_a_handler_returns_ends_the_run(conn, library, kind, payload, ends, error, error_class):
    job = enqueue(conn, kind, payload=payload)
    library()
    await_state(conn, job, ends)
    assert errors(conn, job) == [error]
    assert error_classes(conn, job) == [error_class]


def test_a_job_that_is_put_off_comes_back_with_the_same_attempts_left(conn, library):
    job = enqueue(conn, "snooze", payload=0.05, max_attempts=1)
    library()
    await_state(conn, job, "completed")
    assert errors(conn, job) == []


@pytest.mark.parametrize("number", [1, 20])
def test_a_run_waits_for_the_children_that_it_has_added(conn, library, number):
    parent = enqueue(conn, "parent", payload={"children": number})
    library()
    await_state(conn, parent, "completed")
    assert result(conn, parent) == {"completed": number, "discarded": 0, "cancelled": 0}
    assert counts(conn) == {"completed": number + 1}


def test_a_run_that_waits_for_children_and_has_none_fails(conn, library):
    parent = enqueue(conn, "parent", payload={"children": 0})
    library()
    await_state(conn, parent, "retryable")
    assert "waits for children" in errors(conn, parent)[0]
    assert conn.execute("SELECT attempt FROM turnstile.jobs").fetchall() == [(1,)]


def test_a_run_whose_children_have_ended_goes_on_with_them(conn, library):
    """The same run, and the handler is told."""
    parent = enqueue(conn, "hasty", payload={"waits_again": False})
    loops = enqueue(conn, "hasty", payload={"waits_again": True})
    library()
    await_state(conn, parent, "completed")
    await_state(conn, loops, "retryable")
    assert result(conn, parent) == {"completed": 0, "discarded": 0, "cancelled": 2}
    assert "waits for children" in errors(conn, loops)[0]
    assert conn.execute("SELECT attempt FROM turnstile.jobs WHERE kind = 'hasty'").fetchall() == [(1,), (1,)]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_job_that_is_added_in_a_transaction_is_there_when_that_commits(conn, library, is_kept):
    job = enqueue(conn, "transfer", payload=is_kept)
    library()
    await_state(conn, job, "completed")
    added = conn.execute("SELECT id, kind FROM turnstile.jobs WHERE queue = 'elsewhere'").fetchall()
    assert added == ([(result(conn, job), "transferred")] if is_kept else [])
    states = conn.execute("SELECT states::text[] FROM turnstile.unique_key").fetchall()
    assert states == ([(["available", "running"],)] if is_kept else [])


def test_progress_is_seen_and_a_cancelled_job_stops_its_handler(conn, library):
    job = enqueue(conn, "listens")
    worker = library()
    prints(worker, f"begun {job} true")
    assert conn.execute("SELECT progress FROM turnstile.jobs").fetchone()[0]["total"] == 4
    call(conn, "cancel", job_id=job)
    await_state(conn, job, "cancelled")
    prints(worker, f"stopped {job} Cancelled")


def lose_lease(conn) -> None:
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute' WHERE state = 'running'")
    call(conn, "rescue")


def test_the_handler_of_a_lost_run_is_told_and_its_end_counts_for_nothing(conn, library):
    job = enqueue(conn, "listens")
    worker = library()
    prints(worker, f"begun {job} true")
    lose_lease(conn)
    prints(worker, f"stopped {job} Lost")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert (state(conn, job), errors(conn, job)) == ("retryable", ["lease expired"])


CLAIM_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%turnstile.claim(%' AND pid <> pg_backend_pid()"


def test_a_run_that_is_lost_before_it_begins_does_not_begin(db, conn, library):
    """The worker is held up for longer than the lease between its claim and the answer."""
    call(conn, "set_queue", name="default", lease="1 second", retry_base="1 hour", retry_cap="1 hour")
    job = enqueue(conn, "listens")
    with db.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE turnstile.job IN EXCLUSIVE MODE")
        worker = library()
        until(lambda: conn.execute(CLAIM_WAITS).fetchone() == (1,), "its claim waits", worker.stderr)
        worker.signal(signal.SIGSTOP)
    await_state(conn, job, "running")
    until(lambda: state(conn, job) == "retryable", "the lease is over")
    worker.signal(signal.SIGCONT)
    after = enqueue(conn, "sum", payload={"a": 1, "b": 1})
    await_state(conn, after, "completed")
    assert (errors(conn, job), "begun" in worker.stdout()) == (["lease expired"], False)


def test_a_shutdown_tells_handlers_and_gives_back_what_they_have_not_done(conn, library):
    given_back, done = enqueue(conn, "listens"), enqueue(conn, "finishes")
    worker = library(drain=0.2)
    prints(worker, f"begun {given_back} true")
    prints(worker, f"begun {done}")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert f"stopped {given_back} Shutdown" in worker.stdout()
    assert (state(conn, given_back), errors(conn, given_back)) == ("available", [])
    assert (state(conn, done), result(conn, done)) == ("completed", True)


def test_a_handler_that_does_not_listen_is_dropped(conn, library):
    job = enqueue(conn, "deaf")
    worker = library(drain=0.1, grace=0.1)
    prints(worker, f"begun {job}")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert f"dropped {job}" in worker.stdout()
    assert state(conn, job) == "available"


def test_many_jobs_through_a_pooler(db, conn):
    with pgbouncer(db.name) as pooler:
        worker = Library(url(db.name, pooler.port))
        try:
            enqueue_many(conn, [{"kind": "sum", "payload": {"a": number, "b": 1}} for number in range(500)])
            await_counts(conn, completed=500)
            worker.terminate()
            assert worker.ended()[0] == 0
        finally:
            worker.kill()
    assert conn.execute("SELECT count(*) FROM turnstile.jobs WHERE result <> to_jsonb((payload->>'a')::int + 1)").fetchone() == (0,)


@pytest.mark.parametrize("immediate", [False, pytest.param(True, marks=pytest.mark.long)], ids=["a clean restart", "a crash"])
def test_a_run_outlives_a_restart_of_the_server(immediate):
    """So does the worker: it ends the run that it had, and does the next job."""
    with own_cluster("program_restart", max_connections=20) as cluster, fresh_database() as db:
        conn = db.connect()
        job = enqueue(conn, "finishes")
        worker = Library(url(db.name), drain=0)
        try:
            prints(worker, f"begun {job}")
            cluster.restart(immediate=immediate)
            wait_until_up()
            conn = db.connect()
            after = enqueue(conn, "sum", payload={"a": 1, "b": 1})
            await_state(conn, after, "completed")
            await_asleep(conn, 1)
            assert state(conn, job) == "running"
            worker.terminate()
            assert worker.ended()[0] == 0
            assert (state(conn, job), result(conn, job)) == ("completed", True)
        finally:
            worker.kill()


REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON turnstile.job FOR EACH ROW WHEN (OLD.queue = 'refused') EXECUTE FUNCTION refuse();
"""


def test_a_completion_that_the_server_refuses_fails_that_run_alone(conn, work):
    """Many complete in one call, which goes along with a claim."""
    conn.execute(REFUSE)
    for number in range(30):
        enqueue(conn, queue="refused" if number % 10 == 5 else "default")
    work("--queues", "*", "--concurrency", "3", command=["true"])
    await_counts(conn, completed=27, retryable=3)
    said = conn.execute("SELECT errors->0->>'error' FROM turnstile.jobs WHERE state = 'retryable'").fetchall()
    assert ["not this one" in error for (error,) in said] == [True] * 3
    after = enqueue(conn)
    await_state(conn, after, "completed")


RAISE = """
CREATE TABLE public.switch AS SELECT true AS is_on;
CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT is_on FROM public.switch) THEN RAISE 'not now' USING ERRCODE = TG_ARGV[0]; END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER raise BEFORE DELETE ON turnstile.job FOR EACH ROW WHEN (OLD.queue = 'refused') EXECUTE FUNCTION raise('SQLSTATE');
"""
LEASE = "SELECT lease_expires_at FROM turnstile.jobs WHERE id = %s"
OF_THE_PROGRAM = "SELECT pid, backend_start FROM pg_stat_activity WHERE application_name = 'turnstile work' AND datname = current_database() ORDER BY 1"


@pytest.mark.parametrize("mode, command", [([], ["true"]), ([], ["echo", "1"])], ids=["plain", "with a result"])
@pytest.mark.parametrize("sqlstate", ["40001", "25006", *[pytest.param(each, marks=pytest.mark.long) for each in ("08006", "57P01")]])
def test_an_end_that_a_trigger_refuses_for_now_holds_nothing_up(conn, work, sqlstate, mode, command):
    """No connection is lost for it, heartbeats go on, others end, and so does it when it may."""
    conn.execute(RAISE.replace("SQLSTATE", sqlstate))
    refused = enqueue(conn, queue="refused")
    worker = work("--queues", "*", "--concurrency", "2", "--heartbeat", "100ms", *mode, command=command)
    until(lambda: f"not now ({sqlstate})" in worker.stderr(), "it is told of", worker.stderr)
    enqueue(conn)
    await_counts(conn, completed=1, running=1)
    await_asleep(conn, 1)
    connections = conn.execute(OF_THE_PROGRAM).fetchall()
    lease = conn.execute(LEASE, [refused]).fetchone()
    for done in range(2, 12):
        enqueue(conn)
        await_counts(conn, completed=done, running=1)
    until(lambda: conn.execute(LEASE, [refused]).fetchone() > lease, "the run goes on")
    assert conn.execute(OF_THE_PROGRAM).fetchall() == connections and len(connections) == 2
    said = worker.stderr()
    assert said.count(f"not now ({sqlstate})") == 1 and "lost" not in said
    conn.execute("UPDATE switch SET is_on = false")
    await_counts(conn, completed=12)
    assert conn.execute("SELECT max(attempt) FROM turnstile.jobs").fetchone() == (1,)


@pytest.mark.parametrize("sqlstate", ["55000", "P0002"])
def test_what_a_trigger_says_is_not_taken_for_a_lost_run(conn, work, sqlstate):
    conn.execute(RAISE.replace("SQLSTATE", sqlstate))
    job = enqueue(conn, queue="refused")
    worker = work("--queues", "*", command=["true"])
    await_state(conn, job, "retryable")
    assert "not now" in errors(conn, job)[0]
    assert "lost" not in worker.stderr()


def test_a_run_is_lost_only_where_the_server_says_that_of_it(conn, work, tmp_path):
    job = enqueue(conn)
    worker = work(command=["sh", "-c", f"touch {tmp_path}/begun; while ! [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 1"])
    until((tmp_path / "begun").exists, "it has begun")
    lose_lease(conn)
    (tmp_path / "go").touch()
    until(lambda: "the run was lost" in worker.stderr(), "it is told of", worker.stderr)
    assert errors(conn, job) == ["lease expired"]
