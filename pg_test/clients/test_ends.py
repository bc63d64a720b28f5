"""What handlers do and say reaches the server as it was meant. One worker does all of it, and goes on."""

import time

import pytest

from support.calls import call, enqueue
from support.ended import await_state, error_classes, errors, result, state
from support.sleepers import until

needs = pytest.mark.needs
HOUR = "SELECT run_at - clock_timestamp() BETWEEN interval '50 minutes' AND interval '70 minutes' FROM turnstile.jobs WHERE id = %s"


def ends(served, kind: str, wanted: str, payload: dict | None = None, **options) -> int:
    job = enqueue(served.conn, kind, payload=payload or {}, **options)
    await_state(served.conn, job, wanted)
    return job


def attempts(served, job: int) -> int:
    return served.conn.execute("SELECT attempt FROM turnstile.jobs WHERE id = %s", [job]).fetchone()[0]


def is_due_in_an_hour(served, job: int) -> bool:
    return served.conn.execute(HOUR, [job]).fetchone()[0]


def test_a_run_that_returns_is_completed_once(served):
    job = ends(served, "ok", "completed")
    assert (attempts(served, job), result(served.conn, job)) == (1, None)
    assert len(served.driver.events("started", job)) == 1


@needs("results")
def test_a_result_is_kept(served):
    payload = {"a": [1, True, None, "x"], "b": {"c": 1.5}}
    assert result(served.conn, ends(served, "echo", "completed", payload)) == payload


@needs("results")
def test_a_handler_knows_its_job(served):
    job = ends(served, "info", "completed", priority=-5, tenant="acme", max_attempts=3, metadata={"trace": "a1"})
    assert result(served.conn, job) == {
        "id": str(job), "attempt": 1, "queue": "default", "kind": "info", "priority": -5, "tenant": "acme", "max_attempts": 3,
        "attempts_left": 2, "metadata": {"trace": "a1"},
    }  # fmt: skip


def test_an_error_fails_the_run_and_its_text_is_kept(served):
    job = ends(served, "fail", "retryable", {"error": "no such address"})
    [error] = errors(served.conn, job)
    assert "no such address" in error
    assert is_due_in_an_hour(served, job)


def test_a_run_that_fails_is_tried_again(served):
    job = ends(served, "fail", "completed", {"error": "not yet", "times": 2}, queue="quick")
    assert attempts(served, job) == 3
    assert ["not yet" in error for error in errors(served.conn, job)] == [True, True]


def test_the_last_attempt_discards_the_job(served):
    ends(served, "fail", "discarded", {"error": "a bug"}, max_attempts=1)


def test_a_kind_without_a_handler_fails_and_says_which(served):
    job = ends(served, "nobody_knows_this", "retryable")
    assert "nobody_knows_this" in errors(served.conn, job)[0]


@needs("retry")
def test_a_handler_says_when_the_next_attempt_is_due(served):
    job = ends(served, "retry", "retryable", {"seconds": 3600, "error": "busy"}, queue="quick")
    assert "busy" in errors(served.conn, job)[0]
    assert is_due_in_an_hour(served, job)


@needs("discard")
def test_a_handler_says_that_no_attempt_would_do_better(served):
    job = ends(served, "discard", "discarded", {"error": "no such user"})
    assert "no such user" in errors(served.conn, job)[0]


@needs("retry", "error_class")
def test_a_retry_curve_goes_by_the_class_that_a_handler_names(served):
    call(served.conn, "set_retry_curve", kind="retry", error_class="carrier busy", base="1 hour", factor=1, cap="1 hour")
    call(served.conn, "set_retry_curve", kind="retry", error_class="no such number", discard=True)
    busy = ends(served, "retry", "retryable", {"error_class": "carrier busy"}, queue="quick")
    assert is_due_in_an_hour(served, busy)
    assert error_classes(served.conn, busy) == ["carrier busy"]
    assert error_classes(served.conn, ends(served, "retry", "discarded", {"error_class": "no such number"})) == ["no such number"]


@needs("discard", "error_class")
@pytest.mark.parametrize("given, kept", [("é" * 200, "é" * 127), ("", None), (None, None)], ids=["long", "empty", "none"])
def test_a_class_is_cut_to_what_the_server_takes(served, given, kept):
    assert error_classes(served.conn, ends(served, "discard", "discarded", {"error": "no", "error_class": given})) == [kept]


@needs("rules")
def test_an_error_ends_the_run_as_its_class_says(served):
    ends(served, "rule", "discarded")


@needs("snooze")
def test_a_job_is_put_off(served):
    job = ends(served, "snooze", "scheduled", {"seconds": 3600})
    assert is_due_in_an_hour(served, job)


@needs("snooze")
def test_what_is_put_off_has_the_same_attempts_left(served):
    job = ends(served, "snooze", "completed", {"seconds": 0.01, "until": time.time() + 0.5}, max_attempts=1)
    assert errors(served.conn, job) == []
    assert len(served.driver.events("started", job)) > 1


@needs("progress")
def test_progress_is_seen_while_the_run_goes_on(served):
    job = enqueue(served.conn, "progress", payload={"done": 1, "total": 4, "message": "begun", "seconds": 600})
    seen = "SELECT progress FROM turnstile.jobs WHERE id = %s AND progress IS NOT NULL"
    try:
        served.driver.says("started", job)
        until(lambda: served.conn.execute(seen, [job]).fetchone(), "progress")
        progress = served.conn.execute(seen, [job]).fetchone()[0]
        assert (progress["done"], progress["total"], progress["message"]) == (1, 4, "begun")
    finally:
        call(served.conn, "cancel", job_id=job)


@needs("children", "results")
@pytest.mark.parametrize("number", [1, 20])
def test_a_run_waits_for_the_children_that_it_has_added(served, number):
    job = ends(served, "parent", "completed", {"children": number})
    assert result(served.conn, job) == {"completed": number, "discarded": 0, "cancelled": 0}


@needs("children")
def test_a_run_that_waits_for_children_and_has_none_does_not_wait_for_ever(served):
    job = enqueue(served.conn, "parent", payload={"children": 0}, max_attempts=1)
    ended = "SELECT state IN ('completed', 'discarded') FROM turnstile.jobs WHERE id = %s"
    until(lambda: served.conn.execute(ended, [job]).fetchone()[0], "it has ended", lambda: state(served.conn, job))


@needs("transactions", "results")
@pytest.mark.parametrize("keep", [True, False])
def test_a_job_that_is_added_in_a_transaction_is_there_when_that_commits(served, keep):
    job = ends(served, "transfer", "completed", {"keep": keep, "payload": {"a": 1}})
    found = served.conn.execute("SELECT kind, queue, payload FROM turnstile.jobs WHERE id = %s", [int(result(served.conn, job))]).fetchall()
    assert found == ([("transferred", "elsewhere", {"a": 1})] if keep else [])
