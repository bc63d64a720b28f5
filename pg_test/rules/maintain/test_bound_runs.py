"""Runs bound to a connection: rescued once its backend is gone, long before their lease ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from support import rows, sleepers
from support.calls import call, claim_next, complete, complete_and_claim_next, enqueue, enqueue_times, release
from support.errors import NULL_VALUE, WRONG_STATE, refused
from support.lapse import LOST, errors, until

BOUND = {"bind_to_connection": True}


def _claim(conn, **arguments):
    return claim_next(conn, **BOUND | arguments)


def _look(conn):
    """What a live queue does all the time, of whatever queue."""
    return lambda: claim_next(conn, "another queue")


def test_a_run_is_rescued_once_its_connection_is_closed(conn, other):
    enqueue(conn)
    run = _claim(other, lease="1 day", worker="w1")
    owner = conn.execute("SELECT owner_pid FROM turnstile.job").fetchone()[0]
    assert owner == other.info.backend_pid
    _look(conn)()
    assert rows.state(conn, run.id) == "running"
    other.close()
    until(conn, run.id, "retryable", _look(conn))
    assert errors(conn, run.id) == [LOST]
    row = rows.live(conn, run.id)
    assert (row.owner_pid, row.owner_started_at, row.worker) == (None, None, None)
    with refused(WRONG_STATE):
        complete(conn, run)


def test_a_terminated_backend_loses_its_runs(conn, other):
    enqueue_times(conn, 3)
    runs = call(other, "claim", queues=["default"], max_jobs=3, **BOUND)
    conn.execute("SELECT pg_terminate_backend(%s)", [other.info.backend_pid])
    for run in runs:
        until(conn, run.id, "retryable", _look(conn))


def test_a_run_of_an_owner_that_is_found_in_two_ways_fails_once(conn, other):
    """Its backend has left word, and after a rebuild whoever has gone is looked for among the jobs."""
    enqueue(conn, max_attempts=1)
    run = _claim(other)
    owner = other.info.backend_pid
    other.close()
    gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
    sleepers.until(lambda: conn.execute(gone, [owner]).fetchone()[0], "the backend has gone")
    conn.execute("SELECT turnstile.rebuild()")
    until(conn, run.id, "discarded", _look(conn))
    assert [entry["error"] for entry in rows.finished(conn, run.id).errors] == [LOST]


def test_a_killed_worker_loses_its_runs(db, conn):
    enqueue(conn)
    code = (
        "import psycopg, time\n"
        f"conn = psycopg.connect(dbname={db.name!r}, autocommit=True)\n"
        "print(*conn.execute('SELECT id FROM turnstile.claim_next(bind_to_connection => true)').fetchone(), flush=True)\n"
        "time.sleep(600)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        job_id = int(worker.stdout.readline())
        assert rows.state(conn, job_id) == "running"
        os.kill(worker.pid, signal.SIGKILL)
        until(conn, job_id, "retryable", _look(conn))
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()


def test_complete_and_claim_next_binds_too(conn, other):
    enqueue_times(conn, 2)
    run = complete_and_claim_next(other, claim_next(other), **BOUND)
    other.close()
    until(conn, run.id, "retryable", _look(conn))


def test_what_is_not_bound_outlives_its_connection(conn, other):
    enqueue_times(conn, 2)
    free, bound = claim_next(other), _claim(other)
    other.close()
    until(conn, bound.id, "retryable", _look(conn))
    assert rows.state(conn, free.id) == "running"
    assert complete(conn, free)


def test_a_finished_or_reclaimed_run_is_not_touched(db, conn, other):
    """Completed, released and claimed by another backend, or without binding: nothing of it is the gone one's."""
    enqueue_times(conn, 4)
    done, handed_on, rebound, lost = (_claim(other) for _ in range(4))
    complete(other, done)
    release(other, handed_on)
    unbound = claim_next(conn)
    release(other, rebound)
    third = db.connect()
    bound = _claim(third)
    assert (unbound.id, bound.id) == (handed_on.id, rebound.id)
    other.close()
    until(conn, lost.id, "retryable", _look(conn))
    assert rows.state(conn, done.id) == "completed"
    assert complete(conn, unbound) and complete(third, bound)


def test_a_pid_alone_proves_nothing(conn, other):
    """A run of a backend that had the same process id, but started at another time, is gone; and the reverse."""
    enqueue_times(conn, 2)
    run, old = _claim(other), _claim(other)
    conn.execute("UPDATE turnstile.job SET owner_started_at = owner_started_at - interval '1 day' WHERE id = %s", [old.id])
    conn.execute("SELECT turnstile.rebuild()")
    _look(conn)()
    assert [rows.state(conn, job.id) for job in (run, old)] == ["running", "retryable"]
    other.close()
    until(conn, run.id, "retryable", _look(conn))


def test_a_claim_that_was_rolled_back_leaves_nothing_bound(conn, other):
    job_id = enqueue(conn)
    other.execute("BEGIN")
    _claim(other)
    other.close()
    run = None
    give_up = time.monotonic() + 60
    while run is None and time.monotonic() < give_up:
        run = claim_next(conn)
    assert (run.id, rows.live(conn, job_id).errors) == (job_id, None)


def test_more_backends_than_are_listed(db, conn):
    """And a rebuild between: whoever is not there any more is found by looking at all."""
    enqueue_times(conn, 80)
    workers = [db.connect() for _ in range(80)]
    runs = [_claim(worker) for worker in workers]
    for worker in workers[1:]:
        worker.close()
    for run in runs[1:]:
        until(conn, run.id, "retryable", _look(conn))
    assert rows.state(conn, runs[0].id) == "running"
    conn.execute("SELECT turnstile.rebuild()")
    _look(conn)()
    assert rows.state(conn, runs[0].id) == "running"
    workers[0].close()
    until(conn, runs[0].id, "retryable", _look(conn))


def test_a_backend_gone_during_a_rebuild_is_not_forgotten(conn, other):
    enqueue(conn)
    run = _claim(other)
    other.close()
    conn.execute("SELECT turnstile.rebuild()")
    until(conn, run.id, "retryable", _look(conn))


def test_a_locked_run_is_rescued_later(db, conn, other):
    enqueue_times(conn, 2)
    locked, free = _claim(other), _claim(other)
    stranger = db.connect()
    stranger.execute(f"BEGIN; SELECT 1 FROM turnstile.job WHERE id = {locked.id} FOR UPDATE")
    other.close()
    until(conn, free.id, "retryable", _look(conn))
    assert rows.state(conn, locked.id) == "running"
    stranger.execute("COMMIT")
    until(conn, locked.id, "retryable", _look(conn))


def test_a_rescue_that_was_rolled_back_is_done_again(conn, other, db):
    enqueue(conn)
    run = _claim(other)
    pid = other.info.backend_pid
    other.close()
    while conn.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() is not None:
        time.sleep(0.01)
    conn.execute("BEGIN")
    claim_next(conn)
    assert rows.state(conn, run.id) == "retryable"
    conn.execute("ROLLBACK")
    third = db.connect()
    until(third, run.id, "retryable", _look(third))


def test_rescue_on_demand_counts_them(conn, other):
    enqueue_times(conn, 3)
    for _ in range(3):
        _claim(other)
    pid = other.info.backend_pid
    other.close()
    while conn.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() is not None:
        time.sleep(0.01)
    assert [call(conn, "rescue", max_jobs=most)[0][0] for most in (2, 9, 9)] == [2, 1, 0]


@pytest.mark.parametrize("function", ["claim", "claim_next"])
def test_null_is_refused(conn, function):
    arguments = {"claim": {"queues": ["default"]}}
    with refused(NULL_VALUE):
        call(conn, function, **arguments.get(function, {}), bind_to_connection=None)
