"""Ends of a run: complete, fail and release; what history and the view jobs keep of them."""

from datetime import timedelta

import pytest

from support import rows
from support.calls import (
    Run, call, claim, claim_all, claim_next, complete, complete_and_claim_next, complete_many, discard, enqueue,
    enqueue_times, fail, ids, release,
)  # fmt: skip
from support.due import claim_when_due

KEPT = (
    "id queue kind payload priority tenant account session concurrency_key attempt max_attempts worker claimed_at"
    " metadata created_at"
).split()

FULL = {
    "kind": "mail.send",
    "payload": {"n": 1},
    "tenant": "acme",
    "account": "sales",
    "session": "chat-1",
    "concurrency_key": "smtp",
    "priority": 3,
    "metadata": {"trace": "abc"},
}


def test_a_completed_job_leaves_the_live_table_for_history(conn):
    job_id = enqueue(conn, **FULL)
    run = claim_next(conn, worker="w1")
    before, began = rows.live(conn, job_id), rows.clock(conn)
    assert complete(conn, run, result={"sent": 4}) is True
    row = rows.finished(conn, job_id)
    assert rows.live(conn, job_id) is None
    assert {name: getattr(row, name) for name in KEPT} == {name: getattr(before, name) for name in KEPT}
    assert (row.state, row.result) == ("completed", {"sent": 4})
    assert began <= row.finished_at <= rows.clock(conn)


@pytest.mark.parametrize("result", [{}, {"a": None}, [1, 2], "text", 0, False])
@pytest.mark.parametrize("finish", [complete, complete_and_claim_next])
def test_a_result_is_any_json(conn, finish, result):
    enqueue(conn)
    run = claim_next(conn)
    finish(conn, run, result=result)
    assert rows.finished(conn, run.id).result == result


def test_a_complete_without_result_has_none(conn):
    enqueue(conn)
    run = claim_next(conn)
    complete(conn, run)
    assert rows.finished(conn, run.id).result is None


def test_complete_many_counts_what_it_completed(conn):
    enqueue_times(conn, 4)
    runs = claim(conn, ["default"], 3)
    complete(conn, runs[0])
    assert complete_many(conn, runs) == 2
    assert rows.counts(conn) == {"completed": 3, "available": 1}
    assert complete_many(conn, []) == 0


def test_complete_many_completes_a_run_named_twice_once(conn):
    enqueue(conn)
    run = claim_next(conn)
    assert complete_many(conn, [run, run]) == 1
    assert rows.counts(conn) == {"completed": 1}


def test_complete_and_claim_next_goes_on_in_the_queue_of_the_finished_job(conn):
    _, mail = enqueue(conn, queue="mail"), enqueue(conn, queue="mail")
    plain = enqueue(conn)
    second = complete_and_claim_next(conn, claim_next(conn, "mail"))
    assert second.id == mail
    third = complete_and_claim_next(conn, second, queue="default", worker="w2", lease="1 hour")
    assert (third.id, rows.live(conn, plain).worker) == (plain, "w2")
    assert third.lease_expires_at - rows.live(conn, plain).claimed_at > timedelta(minutes=59)
    assert complete_and_claim_next(conn, third) is None
    assert rows.counts(conn) == {"completed": 3}


def test_a_failed_run_waits_to_be_retried_and_keeps_its_error(conn):
    enqueue(conn)
    run, before = claim_next(conn), rows.clock(conn)
    assert fail(conn, run, error="no route to host", retry_in="1 hour") == "retryable"
    row = rows.live(conn, run.id)
    assert (row.state, row.attempt) == ("retryable", 1)
    assert before + timedelta(hours=1) <= row.run_at <= rows.clock(conn) + timedelta(hours=1)
    assert "no route to host" in str(row.errors)
    assert claim_next(conn) is None


def test_every_error_of_a_job_is_kept(conn):
    enqueue(conn)
    for n in range(3):
        fail(conn, claim_when_due(conn), error=f"reason {n}", retry_in="1 millisecond")
    run = claim_when_due(conn)
    complete(conn, run)
    errors = rows.finished(conn, run.id).errors
    assert len(errors) == 3
    assert [f"reason {n}" in str(error) for n, error in enumerate(errors)] == [True] * 3


def _wait_after_attempt(conn, attempt: int):
    """Fails a job this many times; the times around the last failure, and between them when it is to be retried."""
    job_id = enqueue(conn)
    for _ in range(attempt - 1):
        fail(conn, claim_when_due(conn), retry_in="0 seconds")
    run, before = claim_when_due(conn), rows.clock(conn)
    assert (run.attempt, fail(conn, run)) == (attempt, "retryable")
    return before, rows.live(conn, job_id).run_at, rows.clock(conn)


@pytest.mark.parametrize("attempt", [1, 2, 3, 10])
def test_a_retry_waits_the_fourth_power_of_the_attempt_in_seconds_and_a_tenth_at_most(conn, attempt):
    before, run_at, after = _wait_after_attempt(conn, attempt)
    assert before + timedelta(seconds=attempt**4) <= run_at <= after + timedelta(seconds=attempt**4 * 1.1)


def test_a_retry_waits_a_day_at_most(conn):
    before, run_at, after = _wait_after_attempt(conn, 20)
    assert before + timedelta(hours=21) < run_at <= after + timedelta(days=1)


def test_a_job_discarded_by_hand_is_in_history_with_its_error(conn):
    enqueue(conn)
    run = claim_next(conn)
    assert fail(conn, run, error="bad address", discard=True) == "discarded"
    row = rows.finished(conn, run.id)
    assert (row.state, row.attempt) == ("discarded", 1)
    assert "bad address" in str(row.errors)
    assert rows.live(conn, run.id) is None


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_after_max_attempts_a_job_is_discarded(conn, max_attempts):
    enqueue(conn, max_attempts=max_attempts)
    ends = []
    for attempt in range(1, max_attempts + 1):
        run = claim_when_due(conn)
        assert run.attempt == attempt
        ends.append(fail(conn, run, retry_in="1 millisecond"))
    assert ends == ["retryable"] * (max_attempts - 1) + ["discarded"]
    assert rows.finished(conn, run.id).state == "discarded"
    assert claim_next(conn) is None


def test_a_released_run_is_available_at_once(conn):
    enqueue(conn)
    run = claim_next(conn, worker="w1")
    assert release(conn, run) is True
    row = rows.live(conn, run.id)
    assert (row.state, row.worker, row.claimed_at, row.lease_expires_at) == ("available", None, None, None)
    assert claim_next(conn).id == run.id


def test_a_release_does_not_count_the_attempt(conn):
    enqueue(conn, max_attempts=2)
    ends = []
    for _ in range(2):
        for _ in range(4):
            release(conn, claim_when_due(conn))
        ends.append(fail(conn, claim_when_due(conn), retry_in="1 millisecond"))
    assert ends == ["retryable", "discarded"]


def test_a_job_can_run_at_max_attempts_one_after_a_release(conn):
    enqueue(conn, max_attempts=1)
    release(conn, claim_next(conn))
    run = claim_next(conn)
    assert complete(conn, run)


def test_jobs_shows_live_and_finished_jobs_together_once_each(conn):
    enqueue_times(conn, 5)
    runs = claim(conn, ["default"], 4)
    complete(conn, runs[0])
    discard(conn, runs[1])
    fail(conn, runs[2], retry_in="1 hour")
    conn.execute("SELECT turnstile.enqueue('later', run_at => now() + '1 hour')")
    expected = {"completed": 1, "discarded": 1, "retryable": 1, "running": 1, "available": 1, "scheduled": 1}
    assert rows.counts(conn) == expected
    assert rows.state(conn, runs[0].id) == "completed"


def test_a_run_can_end_from_a_connection_that_did_not_claim_it(conn, other):
    enqueue_times(conn, 2)
    first, second = claim_all(conn)
    conn.close()
    assert complete(other, first) is True
    assert release(other, Run(second.id, second.attempt)) is True
    assert ids(claim_all(other)) == [second.id]


def test_a_finish_in_an_empty_queue_is_no_rows_not_an_error(conn):
    enqueue(conn)
    run = claim_next(conn)
    assert call(conn, "complete_and_claim_next", job_id=run.id, attempt=run.attempt) == []
    assert call(conn, "claim_next") == []
    assert call(conn, "claim", queues=["default"]) == []
