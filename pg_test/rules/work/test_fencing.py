"""Fencing: (id, attempt) names one run; a superseded run gets 55000 and changes nothing."""

import psycopg
import pytest

from support import rows
from support.calls import (
    Run, claim, claim_all, claim_next, complete, complete_and_claim_next, complete_many, discard, enqueue, enqueue_times, fail,
    release,
)  # fmt: skip
from support.due import claim_when_due
from support.errors import NO_SUCH_JOB, WRONG_STATE, refused
from support.sleepers import Sleeper, until

LOCK_NOT_AVAILABLE = "55P03"

FINISHES = {
    "complete": complete,
    "complete_and_claim_next": complete_and_claim_next,
    "fail": fail,
    "fail for good": discard,
    "release": release,
}
each_finish = pytest.mark.parametrize("finish", FINISHES.values(), ids=FINISHES.keys())


def _again_after_release(conn, run):
    release(conn, run)
    return claim_next(conn)


def _again_after_fail(conn, run):
    fail(conn, run, retry_in="10 milliseconds")
    return claim_when_due(conn)


SUPERSEDED_BY = {"a release and a claim": _again_after_release, "a retry": _again_after_fail}


@each_finish
@pytest.mark.parametrize("again", SUPERSEDED_BY.values(), ids=SUPERSEDED_BY.keys())
def test_a_superseded_run_is_refused_and_changes_nothing(conn, again, finish):
    enqueue(conn)
    stale = claim_next(conn)
    current = again(conn, stale)
    assert current.id == stale.id
    assert current.attempt != stale.attempt, "(id, attempt) names one run"
    waiting = enqueue(conn)
    before = rows.everything(conn)
    with refused(WRONG_STATE):
        finish(conn, stale)
    assert rows.everything(conn) == before
    assert rows.state(conn, waiting) == "available"
    assert complete(conn, current), "the current run is not disturbed"


@each_finish
def test_a_run_that_ended_without_a_successor_is_refused(conn, finish):
    enqueue(conn)
    run = claim_next(conn)
    fail(conn, run, retry_in="1 hour")
    before = rows.everything(conn)
    with refused(WRONG_STATE):
        finish(conn, run)
    assert rows.everything(conn) == before


@each_finish
@pytest.mark.parametrize("attempt", [2, 2**31 - 1])
def test_an_attempt_that_is_not_running_is_refused(conn, finish, attempt):
    run = Run(enqueue(conn), attempt)
    assert claim_next(conn).attempt == 1
    before = rows.everything(conn)
    with refused(WRONG_STATE):
        finish(conn, run)
    assert rows.everything(conn) == before


@each_finish
def test_a_job_that_was_never_claimed_cannot_be_finished(conn, finish):
    job_id = enqueue(conn)
    with refused(WRONG_STATE):
        finish(conn, Run(job_id, 1))
    assert rows.state(conn, job_id) == "available"
    assert claim_next(conn).attempt == 1


@each_finish
@pytest.mark.parametrize("job_id", [0, -1, 999_999, 2**63 - 1])
def test_no_such_job_is_said(module_conn, finish, job_id):
    with refused(NO_SUCH_JOB):
        finish(module_conn, Run(job_id, 1))


def test_a_repeated_complete_returns_false_and_changes_nothing(conn):
    enqueue(conn)
    run = claim_next(conn)
    assert complete(conn, run, result={"first": True}) is True
    before = rows.everything(conn)
    assert complete(conn, run, result={"second": True}) is False
    assert complete_many(conn, [run]) == 0
    assert rows.everything(conn) == before


def test_a_repeated_complete_frees_no_second_slot(conn):
    conn.execute("INSERT INTO turnstile.tenant (name, slots) VALUES ('acme', 2)")
    enqueue_times(conn, 6, tenant="acme")
    run, _ = claim_all(conn)
    complete(conn, run)
    complete(conn, run)
    complete_many(conn, [run, run])
    assert len(claim_all(conn)) == 1


@pytest.mark.parametrize("finish", [fail, discard, release])
def test_a_completed_run_cannot_end_in_another_way(conn, finish):
    enqueue(conn)
    run = claim_next(conn)
    complete(conn, run)
    with refused(WRONG_STATE):
        finish(conn, run)
    assert rows.state(conn, run.id) == "completed"


@each_finish
def test_a_discarded_run_cannot_end_again(conn, finish):
    enqueue(conn)
    run = claim_next(conn)
    discard(conn, run)
    with refused(WRONG_STATE):
        finish(conn, run)
    assert rows.state(conn, run.id) == "discarded"


def test_complete_with_another_attempt_of_a_completed_job_is_refused(conn):
    enqueue(conn)
    stale = claim_next(conn)
    current = _again_after_release(conn, stale)
    complete(conn, current)
    with refused(WRONG_STATE):
        complete(conn, stale)
    with refused(WRONG_STATE):
        complete(conn, Run(current.id, current.attempt + 1))


@pytest.mark.parametrize("again", SUPERSEDED_BY.values(), ids=SUPERSEDED_BY.keys())
def test_complete_many_leaves_a_superseded_run_alone_and_does_not_count_it(conn, again):
    """A batch is not refused for one stale run: the others would lose what they did."""
    enqueue_times(conn, 3)
    runs = claim_all(conn)
    current = again(conn, runs[1])
    before = rows.live(conn, current.id)
    assert complete_many(conn, runs) == 2
    assert rows.live(conn, current.id) == before
    assert complete_many(conn, [current]) == 1


def test_complete_many_does_not_count_what_is_not_running(conn):
    waiting, failed, discarded = enqueue_times(conn, 3)
    enqueue(conn, run_at="infinity")
    runs = claim(conn, ["default"], 3)
    release(conn, runs[0])
    fail(conn, runs[1], retry_in="1 hour")
    discard(conn, runs[2])
    before = rows.everything(conn)
    unknown = [Run(0, 1), Run(-1, 1), Run(2**63 - 1, 1)]
    assert complete_many(conn, [*runs, Run(waiting, 2), *unknown]) == 0
    assert rows.everything(conn) == before
    assert [rows.state(conn, job_id) for job_id in (waiting, failed, discarded)] == ["available", "retryable", "discarded"]


@pytest.mark.parametrize("finish", [complete, fail, release, discard, complete_and_claim_next])
def test_of_two_connections_that_end_one_run_one_wins(conn, other, finish):
    """The second waits for the first's commit or is refused at once; then it finds the run over."""
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN")
    release(conn, run)
    other.execute("SET lock_timeout = '200ms'")
    with pytest.raises(psycopg.Error) as caught:
        finish(other, run)
    assert caught.value.sqlstate in (LOCK_NOT_AVAILABLE, WRONG_STATE)
    conn.execute("COMMIT")
    with refused(WRONG_STATE):
        finish(other, run)
    assert rows.state(conn, run.id) == "available"


ON_A_RUN = {
    "heartbeat": "heartbeat(%(id)s, %(attempt)s)",
    "progress": "progress(%(id)s, %(attempt)s, 1, 2)",
    "release": "release(%(id)s, %(attempt)s)",
    "snooze": "snooze(%(id)s, %(attempt)s, '1 hour')",
    "fail": "fail(%(id)s, %(attempt)s, retry_in => '1 hour')",
}


@pytest.mark.parametrize("call", ON_A_RUN.values(), ids=ON_A_RUN.keys())
def test_a_run_that_begins_while_a_call_looks_for_it_is_found(db, conn, other, call):
    """Whoever has lost a claim may name the run before another gets it."""
    enqueue(conn)
    other.execute("BEGIN")
    run = claim_next(other)
    blocker = db.connect()
    # The call has looked for the run by then, and is about to look what has become of it.
    blocker.execute("BEGIN; LOCK TABLE turnstile.job_history")
    caller = Sleeper(db.connect(), f"SELECT turnstile.{call}", id=run.id, attempt=run.attempt)
    waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    until(lambda: conn.execute(waits, [caller.pid]).fetchone() == (True,), "the call waits")
    other.execute("COMMIT")
    blocker.execute("ROLLBACK")
    assert caller.returned().error is None
