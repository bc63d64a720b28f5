"""Two workers on one session whose first job fails: the order of runs is what the design says."""

import threading

import pytest

from support.calls import cancel, claim_next, complete, discard, enqueue, enqueue_times, fail
from support.settings import configure

FAILURES = 2


def _work(conn, head: int, end_head, done: threading.Event) -> None:
    """Fails the head so often, then ends it as told, and completes all others."""
    while not done.is_set():
        run = claim_next(conn)
        if run is None:
            done.wait(0.005)
        elif run.id == head and run.attempt <= FAILURES:
            fail(conn, run, error="not yet", retry_in="30 milliseconds")
        elif run.id == head:
            end_head(conn, run)
        else:
            complete(conn, run)
        if conn.execute("SELECT NOT EXISTS (SELECT FROM turnstile.job)").fetchone()[0]:
            done.set()


def _cancel_and_fail(conn, run) -> None:
    cancel(conn, run.id)
    fail(conn, run)


def _order_of_ends(conn) -> list[int]:
    return [row[0] for row in conn.execute("SELECT id FROM turnstile.job_history ORDER BY claimed_at")]


def _run_two_workers(db, head: int, end_head) -> None:
    done = threading.Event()
    workers = [threading.Thread(target=_work, args=(db.connect(), head, end_head, done)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert done.is_set(), "the session did not come to its end"


@pytest.mark.parametrize("end_head", [complete, discard, _cancel_and_fail], ids=["completed", "discarded", "cancelled"])
def test_under_hold_nothing_of_the_session_starts_before_its_failing_head_has_ended(db, conn, end_head):
    jobs = enqueue_times(conn, 6, session="chat-1")
    _run_two_workers(db, jobs[0], end_head)
    assert _order_of_ends(conn) == jobs
    errors = conn.execute("SELECT jsonb_array_length(errors) FROM turnstile.job_history WHERE id = %s", [jobs[0]])
    assert errors.fetchone()[0] >= FAILURES


def test_under_pass_the_session_goes_on_while_its_head_waits_to_be_retried(db, conn):
    configure(conn, "queue", "default", session_on_retry="pass")
    head = enqueue(conn, session="chat-1")
    run = claim_next(conn)
    fail(conn, run, error="not yet", retry_in="1 hour")
    others = enqueue_times(conn, 5, session="chat-1")
    done = threading.Event()

    def work(worker) -> None:
        while not done.is_set():
            if run := claim_next(worker):
                complete(worker, run)
            if worker.execute("SELECT count(*) FROM turnstile.job").fetchone() == (1,):
                done.set()

    workers = [threading.Thread(target=work, args=(db.connect(),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert _order_of_ends(conn) == others, "one at a time, in order, without the head"
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [head])
    assert claim_next(conn).id == head
