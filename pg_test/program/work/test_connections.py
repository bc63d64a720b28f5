"""`turnstile work` and its connections: how many it has, what goes over them, and what happens when they are lost."""

import contextlib
import time

import pytest

from support.calls import call, enqueue, enqueue_many
from support.ended import await_counts, await_state, counts, state
from support.pgbouncer import pgbouncer
from support.sleepers import await_asleep, until

OF_THE_PROGRAM = "application_name = 'turnstile work' AND datname = current_database()"
STATEMENTS = f"SELECT pid, query_start, state_change, state FROM pg_stat_activity WHERE {OF_THE_PROGRAM} ORDER BY pid"


# A long-lived command that completes each job.
COMPLETES = ["sed", "-u", 's/.*"id":\\([0-9]*\\).*/{"id":\\1,"attempt":1,"status":"complete"}/']
MODES = [pytest.param([], ["true"], id="command"), pytest.param(["--persistent"], COMPLETES, id="persistent")]


def idle_for(conn, seconds: float) -> None:
    """Whoever runs a statement or ends one has another line then."""
    before = conn.execute(STATEMENTS).fetchall()
    assert before
    time.sleep(seconds)
    assert conn.execute(STATEMENTS).fetchall() == before


@pytest.mark.parametrize("mode, command, seconds", [(*MODES[1].values, 3), *[pytest.param(*mode.values, 60, marks=pytest.mark.long) for mode in MODES]])
def test_without_work_it_runs_no_statement(conn, work, mode, command, seconds):
    """Also once it has had some."""
    work("--concurrency", "4", *mode, command=command)
    jobs = 10
    enqueue_many(conn, [{"kind": "work"}] * jobs)
    await_counts(conn, completed=jobs)
    await_asleep(conn, 1)
    idle_for(conn, seconds)
    before = conn.execute(STATEMENTS).fetchall()
    enqueue(conn)
    await_counts(conn, completed=jobs + 1)
    assert conn.execute(STATEMENTS).fetchall() != before


def test_it_has_two_connections_however_many_jobs_run(conn, work, tmp_path):
    script = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    enqueue_many(conn, [{"kind": "work"}] * 8)
    work("--concurrency", "8", "--heartbeat", "100ms", command=["sh", "-c", script])
    await_counts(conn, running=8)
    assert len(conn.execute(STATEMENTS).fetchall()) <= 2
    (tmp_path / "go").touch()
    await_counts(conn, completed=8)


HELD_UP = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {OF_THE_PROGRAM}"
LOSE_ALL = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}"


def test_connections_that_are_lost_come_back(conn, work, tmp_path):
    """While it sleeps, and while a job runs that goes on meanwhile."""
    worker = work(command=["sh", "-c", f"touch {tmp_path}/begun; while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"])
    await_asleep(conn, 1)
    assert conn.execute(LOSE_ALL).fetchone()[0] == 2
    job = enqueue(conn)
    until((tmp_path / "begun").exists, "it has begun the job")
    conn.execute(LOSE_ALL)
    (tmp_path / "go").touch()
    await_state(conn, job, "completed")
    assert conn.execute("SELECT attempt FROM turnstile.jobs").fetchone() == (1,)
    assert "lost" in worker.stderr()


LOSE_THAT_OF_RUNS = f"""
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OF_THE_PROGRAM} AND wait_event_type IS DISTINCT FROM 'Extension'
"""


def test_it_claims_nothing_while_it_could_send_no_heartbeat(db, conn, work, role):
    """The server has room for one of its two connections only: from the beginning, and after a loss."""

    def refused_more_than(worker, times: int) -> None:
        until(lambda: worker.stderr().count("(53300)") > times, "it has no second connection", worker.stderr)

    call(conn, "allow_worker", role=role, queues=["default"])
    conn.execute(f"ALTER ROLE {role} LOGIN CONNECTION LIMIT 1")
    first = enqueue(conn)
    worker = work(command=["true"], database=f"dbname={db.name} user={role}")
    refused_more_than(worker, 1)
    assert state(conn, first) == "available"
    conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 2")
    await_state(conn, first, "completed")
    await_asleep(conn, 1)
    conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 1")
    assert conn.execute(LOSE_THAT_OF_RUNS).fetchone() == (1,)
    refused = worker.stderr().count("(53300)")
    second = enqueue(conn)
    refused_more_than(worker, refused)
    assert state(conn, second) == "available"
    conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 2")
    await_state(conn, second, "completed")
    assert conn.execute("SELECT max(attempt) FROM turnstile.jobs").fetchone() == (1,)
    worker.kill()


def test_workers_that_have_one_connection_each_do_not_wait_for_ever(db, conn, work, role):
    """One of them hangs up, and another has two."""
    call(conn, "allow_worker", role=role, queues=["default"])
    conn.execute(f"ALTER ROLE {role} LOGIN CONNECTION LIMIT 1")
    job = enqueue(conn)
    one = work(command=["true"], database=f"dbname={db.name} user={role}")
    until(lambda: one.stderr().count("(53300)") > 3, "its next try is late", one.stderr)
    conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 2")
    two = work(command=["true"], database=f"dbname={db.name} user={role}")
    await_state(conn, job, "completed")
    for worker in (one, two):
        worker.kill()


def test_it_waits_for_a_server_that_is_not_there_yet(db, conn, work):
    """Who starts both at once must not care about their order."""
    worker = work(command=["true"], database=f"host=127.0.0.1 port=1 dbname={db.name} connect_timeout=2")
    until(lambda: worker.stderr().count("cannot connect") > 1, "it tries again", worker.stderr)
    worker.terminate()
    assert worker.ended()[0] == 0


def test_a_server_that_takes_no_writes_is_told_of(db, conn, work):
    """It may take some again, so the program goes on."""
    job = enqueue(conn)
    worker = work(command=["true"], database=f"dbname={db.name} options='-c default_transaction_read_only=on'")
    seen = set()
    until(lambda: len(seen_by(conn, seen)) > 3, "it has tried several times", worker.stderr)
    assert worker.stderr().count("(25006)") == 1
    assert "takes no writes" in worker.stderr()
    assert state(conn, job) == "available"


def seen_by(conn, seen: set) -> set:
    """With the connections that there are now."""
    seen.update(conn.execute(f"SELECT pid FROM pg_stat_activity WHERE {OF_THE_PROGRAM}").fetchall())
    return seen


@pytest.mark.parametrize("mode, command", MODES)
@pytest.mark.parametrize("way", ["direct", "pgbouncer"])
def test_where_serializable_is_the_default_claims_are_not(db, conn, work, mode, command, way):
    conn.execute(f"ALTER DATABASE {db.name} SET default_transaction_isolation = serializable")
    with contextlib.ExitStack() as around:
        port = around.enter_context(pgbouncer(db.name)).port if way == "pgbouncer" else None
        worker = work("--concurrency", "8", *mode, command=command, database=f"host=127.0.0.1 port={port} dbname={db.name}" if port else db.name)
        enqueue_many(conn, [{"kind": "work"}] * 300)
        await_counts(conn, completed=300)
        await_asleep(conn, 1)
        enqueue(conn)
        await_counts(conn, completed=301)
        worker.terminate()
        assert worker.ended()[0] == 0


def test_the_reason_of_a_loss_is_told(conn, work):
    worker = work(command=["true"])
    await_asleep(conn, 1)
    conn.execute(LOSE_ALL)
    until(lambda: "connected to the server again" in worker.stderr(), "it goes on")
    assert "(57P01)" in worker.stderr()


@pytest.mark.parametrize("mode, command", MODES)
def test_through_a_pooler(db, conn, work, mode, command):
    with pgbouncer(db.name) as pooler:
        where = f"host=127.0.0.1 port={pooler.port} dbname={db.name}"
        workers = [work("--concurrency", "4", *mode, command=command, database=where) for _ in range(2)]
        enqueue_many(conn, [{"kind": "work"}] * 200)
        await_counts(conn, completed=200)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            assert worker.ended()[0] == 0
    assert counts(conn) == {"completed": 200}


@pytest.mark.long
def test_who_cannot_tell_the_server_what_has_become_of_a_job_says_so(db, conn, work):
    """After as long as it is worth waiting for."""
    job = enqueue(conn)
    with db.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE turnstile.job_history IN EXCLUSIVE MODE")
        worker = work(command=["true"])
        await_state(conn, job, "running")
        until(lambda: conn.execute(HELD_UP).fetchone() == (1,), "its completion waits")
        worker.terminate()
        status, said = worker.ended()
    assert status == 3
    assert "the server does not know how 1 run(s) have ended" in said
