"""Workers, connections and leases that are lost: each job is done once, and a run that is not the worker's any more is left alone."""

import signal

import pytest

from support.calls import call, enqueue
from support.drivers import LOSE_CONNECTIONS
from support.ended import await_state, errors, state
from support.sleepers import asleep, await_asleep, until

needs = pytest.mark.needs
HELD_UP = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'
"""
ATTEMPT = "SELECT attempt FROM turnstile.jobs WHERE id = %s"


def lapse(conn) -> None:
    """The leases of all runs are over."""
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute' WHERE state = 'running'")
    call(conn, "rescue")


def attempt(conn, job: int) -> int:
    return conn.execute(ATTEMPT, [job]).fetchone()[0]


def does(conn, worker, **options) -> int:
    """The worker still works."""
    job = enqueue(conn, "ok", **options)
    until(lambda: state(conn, job) == "completed", "another job is done", lambda: worker.stdout()[-2000:] + worker.stderr()[-2000:])
    return job


def leaves(worker) -> None:
    worker.terminate()
    worker.leaves()


# ---- The worker is lost


def test_the_job_of_a_worker_that_was_killed_comes_back_once_its_lease_is_over(start, conn):
    worker = start(queues="quick", lease=1)
    job = enqueue(conn, "sleep", payload={"seconds": 1.5}, queue="quick")
    worker.says("started", job)
    worker.kill()
    second = start(queues="quick")
    until(lambda: call(conn, "rescue") and attempt(conn, job) == 2, "it runs again")
    await_state(conn, job, "completed")
    assert errors(conn, job) == ["lease expired"]
    assert [said["attempt"] for said in second.events("started", job)] == [2]
    leaves(second)


def test_one_that_stood_still_past_its_lease_leaves_the_run_to_its_successor(start, conn):
    """No heartbeat was possible. What it says of its run while the next one goes on counts for nothing, and it goes on with other jobs."""
    worker = start(queues="quick,default", concurrency=1, heartbeat=60)
    job = enqueue(conn, "sleep", payload={"seconds": 1}, queue="quick")
    worker.says("started", job)
    worker.signal(signal.SIGSTOP)
    lapse(conn)
    second = start(queues="quick")
    second.says("started", job, attempt=2)
    second.signal(signal.SIGSTOP)
    worker.signal(signal.SIGCONT)
    worker.says("ended", job)
    does(conn, worker)
    leaves(worker)
    assert (state(conn, job), attempt(conn, job), errors(conn, job)) == ("running", 2, ["lease expired"])
    second.signal(signal.SIGCONT)
    await_state(conn, job, "completed")
    assert attempt(conn, job) == 2
    leaves(second)


# ---- Leases


@needs("heartbeats")
def test_a_run_is_kept_alive_for_longer_than_its_lease(start, conn):
    worker = start(lease=2)
    job = enqueue(conn, "sleep", payload={"seconds": 4.5})
    worker.says("started", job)
    until(lambda: call(conn, "rescue") and state(conn, job) != "running", "it ends")
    assert (state(conn, job), attempt(conn, job), errors(conn, job)) == ("completed", 1, [])
    leaves(worker)


@needs("told")
@pytest.mark.parametrize("kind", ["listen", "finish"])
def test_a_run_that_was_lost_is_told_and_counts_for_nothing(start, conn, kind):
    worker = start(heartbeat=0.2)
    job = enqueue(conn, kind)
    worker.says("started", job)
    lapse(conn)
    assert worker.says("stopping", job)["reason"] == "lost"
    does(conn, worker)
    assert (state(conn, job), attempt(conn, job), errors(conn, job)) == ("retryable", 1, ["lease expired"])
    leaves(worker)


def test_the_end_of_a_run_that_was_lost_is_refused_and_the_worker_goes_on(start, conn):
    worker = start()
    jobs = [enqueue(conn, "sleep", payload={"seconds": 1}) for _ in range(min(worker.concurrency, 2))]
    for job in jobs:
        worker.says("started", job)
    lapse(conn)
    does(conn, worker)
    leaves(worker)
    for job in jobs:
        assert (state(conn, job), errors(conn, job)) == ("retryable", ["lease expired"])


@needs("told")
def test_a_run_is_told_that_its_lease_is_over_where_no_server_can_be_asked(start, conn, db):
    """By the worker's own clock."""
    worker = start(lease=1, heartbeat=0.2)
    job = enqueue(conn, "listen")
    worker.says("started", job)
    # A connection limit would not keep superusers out.
    conn.execute(f"UPDATE pg_database SET datallowconn = false WHERE datname = '{db.name}'")
    try:
        conn.execute(LOSE_CONNECTIONS)
        assert worker.says("stopping", job)["reason"] == "lost"
    finally:
        conn.execute(f"UPDATE pg_database SET datallowconn = true WHERE datname = '{db.name}'")
    does(conn, worker)
    leaves(worker)


# ---- Cancellations


@needs("told")
def test_a_cancelled_run_is_told_and_its_job_ends(start, conn):
    worker = start(heartbeat=0.2)
    listens, finishes = enqueue(conn, "listen"), enqueue(conn, "finish")
    for job in (listens, finishes):
        worker.says("started", job)
        call(conn, "cancel", job_id=job)
        assert worker.says("stopping", job)["reason"] == "cancelled"
    await_state(conn, listens, "cancelled")
    # It was nearly done.
    await_state(conn, finishes, "completed")
    leaves(worker)


def test_a_cancelled_run_that_does_not_listen_does_no_harm(start, conn):
    worker = start(heartbeat=0.2)
    job = enqueue(conn, "sleep", payload={"seconds": 1})
    worker.says("started", job)
    call(conn, "cancel", job_id=job)
    until(lambda: state(conn, job) in ("cancelled", "completed"), "it ends", lambda: state(conn, job))
    does(conn, worker)
    leaves(worker)


# ---- Connections


@needs("reconnects")
def test_a_sleeper_whose_connection_is_lost_connects_again(start, conn):
    worker = start()
    await_asleep(conn, 1)
    conn.execute(LOSE_CONNECTIONS)
    does(conn, worker)
    leaves(worker)


@needs("reconnects")
def test_a_run_goes_on_while_all_connections_are_lost(start, conn):
    worker = start()
    job = enqueue(conn, "sleep", payload={"seconds": 1})
    worker.says("started", job)
    for _ in range(3):
        conn.execute(LOSE_CONNECTIONS)
    does(conn, worker)
    await_state(conn, job, "completed")
    assert (attempt(conn, job), errors(conn, job)) == (1, [])
    assert len(worker.events("started", job)) == 1
    leaves(worker)


@needs("reconnects")
@pytest.mark.parametrize("kind, wanted", [("ok", "completed"), ("fail", "discarded")])
def test_an_end_without_an_answer_is_told_again(start, conn, db, kind, wanted):
    """The connection is lost while the call waits in the server."""
    worker = start()
    await_asleep(conn, 1)
    with db.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE turnstile.job_history IN EXCLUSIVE MODE")
        job = enqueue(conn, kind, payload={"error": "a bug"}, max_attempts=1)
        until(lambda: conn.execute(HELD_UP).fetchall(), "the end waits")
        conn.execute(f"SELECT pg_terminate_backend(pid) FROM ({HELD_UP}) AS held_up")
    await_state(conn, job, wanted)
    assert (attempt(conn, job), len(worker.events("started", job))) == (1, 1)
    does(conn, worker)
    leaves(worker)


def test_nothing_sleeps_in_the_server_once_a_worker_was_killed(start, conn):
    worker = start()
    await_asleep(conn, 1)
    worker.kill()
    until(lambda: asleep(conn) == 0, "the sleeper is gone")
