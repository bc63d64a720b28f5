"""A worker that is told to stop leaves nothing behind."""

import random
import time

import pytest

from support.calls import enqueue, enqueue_many
from support.ended import await_state, counts, errors, result, state
from support.sleepers import asleep, await_asleep, until

needs = pytest.mark.needs
LONG = 600
CLAIMED = "SELECT worker, count(*) FROM turnstile.job WHERE state = 'running' GROUP BY worker"


def test_one_that_sleeps_leaves_at_once(start, conn):
    worker = start()
    await_asleep(conn, 1)
    worker.terminate()
    worker.leaves()
    until(lambda: asleep(conn) == 0, "the sleeper is gone from the server, too")


def test_one_that_works_ends_its_run_and_takes_no_other(start, conn):
    worker = start(concurrency=1, drain=LONG)
    job = enqueue(conn, "sleep", payload={"seconds": 1})
    worker.says("started", job)
    later = enqueue(conn, "ok")
    worker.terminate()
    worker.leaves()
    assert (state(conn, job), state(conn, later)) == ("completed", "available")


def test_one_takes_no_more_than_it_has_room_for_and_gives_its_name(start, conn):
    worker = start(concurrency=1, name="ann", drain=LONG)
    jobs = [enqueue(conn, "sleep", payload={"seconds": 1}) for _ in range(3)]
    until(lambda: worker.events("started"), "one has begun")
    assert conn.execute(CLAIMED).fetchall() == [("ann", 1)]
    worker.terminate()
    worker.leaves()
    assert sorted(state(conn, job) for job in jobs) == ["available", "available", "completed"]


def test_a_run_that_fails_meanwhile_is_told_as_failed(start, conn):
    worker = start(drain=LONG)
    enqueue(conn, "sleep", payload={"seconds": 1})
    jobs = [enqueue(conn, "fail", payload={"error": "a bug"}), enqueue(conn, "ok")]
    for job in jobs[: worker.concurrency - 1]:
        worker.says("started", job)
    worker.terminate()
    worker.leaves()
    assert "running" not in counts(conn)


@needs("told", "hard_stop")
@pytest.mark.parametrize("hard", [False, True], ids=["its time is over", "a second signal"])
def test_runs_are_told_when_their_time_is_over(start, conn, hard):
    worker = start(concurrency=2, drain=LONG if hard else 0.2, grace=LONG)
    listens, finishes = enqueue(conn, "listen"), enqueue(conn, "finish")
    for job in (listens, finishes):
        worker.says("started", job)
    worker.terminate()
    if hard:
        # Two signals in a moment may be one.
        time.sleep(0.3)
        worker.terminate()
    worker.leaves()
    for job in (listens, finishes):
        assert worker.says("stopping", job)["reason"] == "shutdown"
    # That it was interrupted is no failure of the job, or it is one that is tried again.
    assert state(conn, listens) in ("available", "retryable")
    assert (state(conn, finishes), result(conn, finishes)) == ("completed", "shutdown")


@needs("told", "hard_stop")
def test_a_job_whose_handler_does_not_stop_is_given_back(start, conn):
    worker = start(drain=0.1, grace=0.3)
    job = enqueue(conn, "deaf")
    worker.says("started", job)
    worker.terminate()
    worker.leaves()
    assert (state(conn, job), errors(conn, job)) == ("available", [])


def test_a_signal_at_any_moment_leaves_no_run_behind(start, conn, seed):
    """Some of the moments are in a claim, or between it and the sleep that follows."""
    chance = random.Random(seed)
    for _ in range(3):
        worker = start()
        until(lambda: asleep(conn) == 1, "asleep")
        enqueue_many(conn, [{"kind": "ok"}] * chance.randrange(1, 6))
        time.sleep(chance.uniform(0, 0.05))
        worker.terminate()
        worker.leaves()
        assert "running" not in counts(conn)
        until(lambda: asleep(conn) == 0, "the sleeper is gone from the server, too")


def test_a_signal_before_the_first_connection_ends_it(start, conn):
    for _ in range(3):
        worker = start()
        worker.terminate()
        worker.leaves()
    assert asleep(conn) == 0


def test_one_worker_takes_over_from_another(start, conn):
    first, jobs = start(), enqueue_many(conn, [{"kind": "sleep", "payload": {"seconds": 0.05}}] * 10)
    first.says("ended")
    second = start()
    first.terminate()
    first.leaves()
    for job in jobs:
        await_state(conn, job.id, "completed")
    started = [said["id"] for worker in (first, second) for said in worker.events("started")]
    assert sorted(started) == sorted(str(job.id) for job in jobs)
