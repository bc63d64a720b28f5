"""First starts, waits over all attempts, and attempts that are left."""

from datetime import timedelta

import pytest

from support import rows
from support.calls import Run, call, cancel, claim, claim_next, complete, discard, enqueue, fail, release, retry, snooze
from support.due import claim_when_due

SECOND = timedelta(seconds=1)


def date_back(conn, job_id: int, seconds: float) -> None:
    conn.execute("UPDATE turnstile.job SET run_at = run_at - make_interval(secs => %s) WHERE id = %s", [seconds, job_id])


def of_view(conn, job_id: int, view: str = "jobs") -> tuple:
    return conn.execute(f"SELECT first_started_at, waited FROM turnstile.{view} WHERE id = %s", [job_id]).fetchone()


def test_a_job_that_was_not_claimed_has_neither(both):
    job_id = enqueue(both)
    assert of_view(both, job_id) == (None, None)
    cancel(both, job_id)
    assert of_view(both, job_id) == (None, None)


def test_the_first_start_stays_and_the_waits_add_up(both):
    job_id = enqueue(both)
    date_back(both, job_id, 100)
    first = claim_next(both)
    started = rows.live(both, job_id).claimed_at
    assert (first.first_started_at, first.attempts_left) == (started, 24)
    assert 100 * SECOND <= of_view(both, job_id)[1] < 160 * SECOND
    fail(both, first, retry_in="1 hour")
    waited = of_view(both, job_id)[1]
    date_back(both, job_id, 3600 + 50)
    both.execute("SELECT turnstile.promote()")
    second = claim_next(both)
    assert (second.first_started_at, second.attempts_left) == (started, 23)
    first_started_at, in_all = of_view(both, job_id)
    assert waited + 50 * SECOND <= in_all < waited + 110 * SECOND
    assert first_started_at == started < rows.live(both, job_id).claimed_at
    complete(both, second)
    for view in ("jobs", "my_jobs", "job_status"):
        assert of_view(both, job_id, view) == (started, in_all)


def test_a_job_of_one_run_needs_no_columns_for_it(both):
    """They would make each row longer."""
    job_id = enqueue(both)
    complete(both, claim_next(both))
    kept = rows.finished(both, job_id)
    assert (kept.first_started_at, kept.waited) == (None, None)
    started, waited = of_view(both, job_id)
    assert started == kept.claimed_at
    assert waited == kept.claimed_at - kept.run_at


def test_days_are_counted_as_days(both):
    """As the server subtracts times, whichever way the row was written."""
    job_id = enqueue(both)
    date_back(both, job_id, 3 * 86400 + 7200)
    claim_next(both)
    told = both.execute("SELECT extract(day FROM waited), extract(hour FROM waited) FROM turnstile.jobs").fetchone()
    assert told == (3, 2)


def test_a_job_that_is_not_due_does_not_wait(both):
    job_id = enqueue(both)
    release(both, claim_next(both))
    snooze(both, claim_next(both), "1 hour")
    before = of_view(both, job_id)[1]
    retry(both, job_id)
    claim_next(both)
    assert before <= of_view(both, job_id)[1] < before + 60 * SECOND


def test_the_time_of_a_run_that_is_released_is_no_wait(both):
    """It waits anew from its release on, not from when it was due first."""
    job_id = enqueue(both)
    date_back(both, job_id, 1000)
    run = claim_next(both)
    before = rows.clock(both)
    release(both, run)
    assert rows.live(both, job_id).run_at >= before
    again = claim_next(both)
    assert 1000 * SECOND <= of_view(both, job_id)[1] < 1100 * SECOND
    assert again.attempts_left == 24, "a release does not count"


@pytest.mark.parametrize("column", ["waited = '178000000 years'", "waited = '-178000000 years'", "claimed_at = NULL"])
def test_nonsense_that_was_set_by_hand_stops_no_run(both, column):
    job_id = enqueue(both)
    for end in (lambda run: fail(both, run, retry_in="0"), lambda run: release(both, run), lambda run: complete(both, run)):
        run = claim_when_due(both)
        both.execute(f"UPDATE turnstile.job SET {column} WHERE id = %s", [job_id])
        end(run)
    assert retry(both, job_id) == "available"


def test_children_are_waited_for_apart(both):
    """A run that steps aside adds its wait; the time until its children have ended is none."""
    job_id = enqueue(both)
    date_back(both, job_id, 100)
    run = claim_next(both)
    started = run.first_started_at
    child = enqueue(both, parent=job_id)
    assert call(both, "await_children", job_id=job_id, attempt=run.attempt)
    complete(both, claim_next(both))
    again = claim_when_due(both)
    assert (again.id, again.first_started_at) == (job_id, started) and child > job_id
    assert 100 * SECOND <= of_view(both, job_id)[1] < 160 * SECOND


@pytest.mark.parametrize("run_at", ["-infinity", "2001-01-01"])
def test_times_without_end_add_nothing(both, run_at):
    job_id = enqueue(both)
    both.execute("UPDATE turnstile.job SET run_at = %s", [run_at])
    run = claim_next(both)
    assert run.first_started_at is not None
    _, waited = of_view(both, job_id)
    assert waited is None if run_at == "-infinity" else waited > timedelta(days=8000)


def test_a_job_that_is_brought_back_goes_on(both):
    job_id = enqueue(both, max_attempts=1)
    run = claim_next(both)
    assert run.attempts_left == 0
    assert fail(both, run) == "discarded"
    started, waited = of_view(both, job_id)
    assert retry(both, job_id) == "available"
    again = claim_next(both)
    assert (again.attempt, again.attempts_left, again.first_started_at) == (2, 0, started)
    assert of_view(both, job_id)[1] >= waited


@pytest.mark.parametrize("max_attempts", [1, 3, 2**31 - 1])
def test_attempts_left_counts_down_to_the_last(both, max_attempts):
    enqueue(both, max_attempts=max_attempts)
    run = claim_next(both)
    assert run.attempts_left == max_attempts - 1
    release(both, run)
    left = [claim_next(both).attempts_left]
    while left[-1] > 0 and len(left) < 4:
        assert fail(both, Run(run.id, rows.live(both, run.id).attempt), retry_in="0") == "retryable"
        left.append(claim_when_due(both).attempts_left)
    assert left == [max_attempts - 1 - n for n in range(len(left))]


def test_fewer_attempts_than_were_made_leave_none(both):
    enqueue(both)
    for _ in range(2):
        fail(both, claim_when_due(both), retry_in="0")
    both.execute("UPDATE turnstile.job SET max_attempts = 1")
    assert claim_when_due(both).attempts_left == 0


def test_a_start_that_is_rolled_back_was_none(both):
    job_id = enqueue(both)
    both.execute("BEGIN; SAVEPOINT s")
    assert claim_next(both).first_started_at is not None
    both.execute("ROLLBACK TO s; COMMIT")
    assert of_view(both, job_id) == (None, None)


def test_all_claims_tell_the_same(both):
    for _ in range(3):
        enqueue(both)
    claimed = claim(both, ["default"], 2)
    claimed += call(both, "complete_and_claim_next", job_id=claimed[0].id, attempt=1)
    for run in claimed:
        started, _ = of_view(both, run.id)
        assert (run.first_started_at, run.attempts_left) == (started, 24)
    discard(both, claimed[1])


def test_a_batch_waits_for_its_turn_too(conn):
    """It is opened by its turn in the session, which is no start."""
    job_id = call(conn, "enqueue_batch", kind="report", session="s", children='[{"kind": "part"}]')[0][0]
    date_back(conn, job_id, 100)
    child = claim_when_due(conn)
    assert child.kind == "part"
    first, waited = of_view(conn, job_id)
    assert first is None
    assert waited >= 100 * SECOND
    complete(conn, child)
    parent = claim_when_due(conn)
    assert (parent.id, parent.first_started_at is None) == (job_id, False)
