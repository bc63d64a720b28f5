"""What each worker of examples/ must do: all of the work, and go in peace when it gets SIGTERM."""

import contextlib
import random
import socket
import time

import pytest

from support.calls import call, enqueue, enqueue_many
from support.examples import COMMANDS, PATIENCE, Worker
from support.pgbouncer import POOL_SIZE, SECOND_ENTRY, free_port
from support.sleepers import Sleeper, asleep, await_asleep, until

# On a library of Turnstile's own, which goes on where the loop of the others ends; and what it says of a run that was lost.
ON_LIBRARY = {"rust": "they were superseded", "node": "ends came too late", "python": "ends came too late"}
LOST = ON_LIBRARY | {"psql": "they were superseded"}
COUNTS = "SELECT state, count(*) FROM turnstile.jobs GROUP BY state"


def counts(conn) -> dict:
    return dict(conn.execute(COUNTS).fetchall())


def add(conn, number: int, **payload) -> None:
    enqueue_many(conn, [{"kind": "work", "payload": payload}] * number)


def await_completed(conn, number: int) -> None:
    wanted = {"completed": number}
    until(lambda: counts(conn) == wanted, f"{number} completed and nothing else", lambda: counts(conn))


def await_running(conn) -> None:
    until(lambda: "running" in counts(conn), "a job that runs")


def await_claimed(conn) -> None:
    until(lambda: "available" not in counts(conn), "all jobs are claimed", lambda: counts(conn))


def says(worker, what: str) -> None:
    line = worker.process.stdout.readline()
    while what not in line.lower():
        assert line, worker.ended()
        line = worker.process.stdout.readline()


def leaves(*workers) -> None:
    for worker in workers:
        status, output = worker.ended()
        assert status == 0, output


def test_all_jobs_are_done_also_those_that_come_later(conn, crew, language):
    add(conn, 6)
    worker = crew(language)
    await_completed(conn, 6)
    await_asleep(conn, 1)
    add(conn, 2)
    await_completed(conn, 8)
    worker.terminate()
    leaves(worker)


def test_a_job_that_fails_is_retried_and_its_error_kept(conn, crew, language):
    add(conn, 1, failures=2)
    add(conn, 3)
    worker = crew(language)
    await_completed(conn, 4)
    errors = conn.execute("SELECT attempt, errors FROM turnstile.jobs WHERE payload ? 'failures'").fetchone()
    assert errors[0] == 3
    assert ["told to fail" in error["error"] for error in errors[1]] == [True, True]
    worker.terminate()
    leaves(worker)


def test_who_sleeps_goes_at_once(conn, crew, language):
    worker = crew(language)
    await_asleep(conn, 1)
    worker.terminate()
    leaves(worker)
    # Nobody is left to whom the job could be handed.
    until(lambda: asleep(conn) == 0, "the sleeper is gone from the server, too")
    enqueue(conn)
    assert counts(conn) == {"available": 1}


def test_who_works_ends_the_job_in_hand_and_takes_no_other(conn, crew, language):
    add(conn, 1, seconds=1)
    worker = crew(language)
    # Where the server has the job as running, it may still be on its way.
    says(worker, "attempt 1")
    worker.terminate()
    add(conn, 1)
    leaves(worker)
    assert counts(conn) == {"completed": 1, "available": 1}


def test_who_works_at_what_fails_says_so_before_it_goes(conn, crew, language):
    call(conn, "set_queue", name="*", retry_base="1 hour")
    add(conn, 1, seconds=1, failures=1)
    worker = crew(language)
    # Where the server has the job as running, it may still be on its way.
    says(worker, "attempt 1")
    worker.terminate()
    leaves(worker)
    assert counts(conn) == {"retryable": 1}


@contextlib.contextmanager
def calls_held_up(db, lock: str = "turnstile.job"):
    """Whatever reads the jobs, or does what else the lock is in the way of, waits until the block ends."""
    with db.connect(autocommit=False) as blocker:
        blocker.execute(f"LOCK TABLE {lock}")
        yield blocker


def await_held_up(conn) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    until(lambda: conn.execute(waiting).fetchone()[0] == 1, "a worker's call waits")


def test_who_is_told_during_a_claim_that_finds_nothing_does_not_sleep(db, conn, crew, language):
    add(conn, 1)
    with calls_held_up(db) as blocker:
        worker = crew(language)
        await_held_up(conn)
        worker.terminate()
        blocker.execute("DELETE FROM turnstile.job")
    leaves(worker)


def test_who_is_told_during_the_call_that_brings_the_next_job_gives_it_back(db, conn, crew, language):
    add(conn, 2)
    with calls_held_up(db, "turnstile.job_history IN EXCLUSIVE MODE"):
        worker = crew(language)
        await_held_up(conn)
        worker.terminate()
    leaves(worker)
    # By its other connection a library may have got the next job, and have done it, by then.
    assert counts(conn) in [{"completed": 1, "available": 1}, *([{"completed": 2}] if language in ON_LIBRARY else [])]


@pytest.mark.parametrize("url", ["direct"], indirect=True)
def test_a_signal_at_any_moment_leaves_no_job_behind(conn, crew, language, seed):
    """Some of the moments are between a look for work and the sleep that follows."""
    chance = random.Random(seed)
    for _ in range(3):
        worker = crew(language)
        until(lambda: asleep(conn) == 1, "asleep")
        add(conn, chance.randrange(4))
        time.sleep(chance.uniform(0, 0.05))
        worker.terminate()
        leaves(worker)
        assert "running" not in counts(conn)
        # Or it would be taken for the next one, which can take no signal before it has begun.
        until(lambda: asleep(conn) == 0, "the sleeper is gone from the server, too")


def test_a_run_that_was_lost_changes_nothing_and_the_worker_goes_on(conn, crew, language):
    call(conn, "set_queue", name="*", retry_base="1 hour")
    add(conn, 1, seconds=1)
    worker = crew(language)
    await_running(conn)
    worker.stop()
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute'")
    call(conn, "rescue")
    worker.go_on()
    says(worker, LOST[language])
    worker.terminate()
    leaves(worker)
    assert conn.execute("SELECT attempt, errors->0->>'error' FROM turnstile.job").fetchone() == (1, "lease expired")


def test_who_finds_no_server_looks_again_until_told(language):
    port = free_port()
    worker = Worker(language, f"postgresql://worker@127.0.0.1:{port}/mydb?connect_timeout=5")
    try:
        says(worker, "refused")
        # A library says so once.
        with socket.create_server(("127.0.0.1", port)) as listener:
            listener.settimeout(PATIENCE)
            listener.accept()[0].close()
        worker.terminate()
        leaves(worker)
    finally:
        worker.kill()


# ---- Through a pool of few connections to the server -------------------------------------------------

through_pgbouncer = pytest.mark.parametrize("url", ["pgbouncer"], indirect=True)


def await_clients(pooler, database: str, **states: int) -> None:
    """So many of its clients are active, and so many wait for a connection to the server."""
    wanted = sorted(state for state, number in states.items() for _ in range(number))
    until(lambda: sorted(pooler.clients(database)) == wanted, f"{wanted}", lambda: pooler.clients(database))


@through_pgbouncer
def test_as_many_connections_as_workers_are_enough(conn, crew):
    languages = list(COMMANDS)[:POOL_SIZE]
    for language in languages:
        crew(language)
    await_asleep(conn, len(languages))
    add(conn, 20)
    await_completed(conn, 20)


@through_pgbouncer
def test_more_workers_than_connections_to_the_server(db, conn, crew, pooler):
    workers = [crew(language) for language in COMMANDS for _ in range(2)]
    add(conn, 60)
    until(lambda: len(pooler.clients(db.name)) >= len(workers), "all workers are there")
    await_claimed(conn)
    # Who has done the last may wait for a sleeper's connection to say so.
    for worker in workers:
        worker.terminate()
    leaves(*workers)
    assert conn.execute("SELECT state, count(*), sum(attempt) FROM turnstile.jobs GROUP BY state").fetchall() == [
        ("completed", 60, 60)
    ]


@through_pgbouncer
def test_a_sleeper_keeps_a_connection_to_the_server(db, conn, crew, pooler):
    """What docs/concepts/waiting.md says that it costs: who finds them all taken by sleepers waits for one to wake."""
    workers = [crew("psql") for _ in range(POOL_SIZE + 1)]
    await_asleep(conn, POOL_SIZE)
    await_clients(pooler, db.name, active=POOL_SIZE, waiting=1)
    with pooler.connect(SECOND_ENTRY) as elsewhere:
        enqueue(elsewhere)
    # Whoever gets the connection of the one who was woken. The other lies down in his place, so that there may be
    # none to complete the job by.
    await_claimed(conn)
    for worker in workers:
        worker.terminate()
    leaves(*workers)
    assert counts(conn) == {"completed": 1}


@through_pgbouncer
def test_who_waits_for_a_connection_to_sleep_by_goes_at_once(db, conn, crew, pooler, language):
    """Told to cancel what it has not begun, PgBouncer does nothing."""
    taken = [pooler.connect(db.name) for _ in range(POOL_SIZE)]
    for connection in taken[1:]:
        connection.execute("BEGIN")
    add(conn, 1)
    with calls_held_up(db) as blocker:
        worker = crew(language)
        await_held_up(conn)
        # Who is next in line for the connection that the claim has.
        last = Sleeper(taken[0], "BEGIN")
        await_clients(pooler, db.name, active=POOL_SIZE, waiting=1)
        blocker.execute("DELETE FROM turnstile.job")
    last.returned()
    await_clients(pooler, db.name, active=POOL_SIZE, waiting=1)
    worker.terminate()
    leaves(worker)
