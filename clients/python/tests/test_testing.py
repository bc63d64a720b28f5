"""An application's tests run its jobs in their own transaction."""

import pytest

from turnstile_client import Discard, Retry, Snooze, enqueue, enqueue_batch
from turnstile_client.testing import assert_enqueued, drain, inline


def test_a_test_drains_its_jobs_and_those_that_come_of_them(conn, turnstile_conn):
    def signup(run):
        enqueue(turnstile_conn, "mail", {"to": run.payload["email"]})
        return "ok"

    sent = []
    enqueue(turnstile_conn, "signup", {"email": "a@example.com"})
    done = drain(turnstile_conn, {"signup": signup, "mail": lambda run: sent.append(run.payload["to"])})
    assert ([job.kind for job in done], sent) == (["signup", "mail"], ["a@example.com"])
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)


def test_batches_run_to_their_end(turnstile_conn):
    enqueue_batch(turnstile_conn, "sum", children=[{"kind": "part"}] * 3)
    ended = []
    drain(turnstile_conn, {"part": lambda run: None, "sum": lambda run: ended.append(run.job.children)})
    assert ended == [{"completed": 3, "discarded": 0, "cancelled": 0}]


def test_errors_of_handlers_surface(turnstile_conn):
    def fails(run):
        raise ValueError("boom")

    enqueue(turnstile_conn, "a")
    with pytest.raises(ValueError, match="boom"):
        drain(turnstile_conn, {"a": fails})


def test_or_they_do_what_they_do_in_a_worker(turnstile_conn):
    def fails(run):
        raise {"retry": Retry("r", in_=60), "discard": Discard("d"), "snooze": Snooze(60)}.get(run.job.kind, ValueError("v"))

    kinds = ["retry", "discard", "snooze", "error"]
    for kind in kinds:
        enqueue(turnstile_conn, kind)
    drain(turnstile_conn, {"*": fails}, raises=False)
    states = dict(turnstile_conn.execute("SELECT kind, state FROM turnstile.jobs").fetchall())
    assert states == {"retry": "retryable", "discard": "discarded", "snooze": "scheduled", "error": "retryable"}


def test_a_job_that_adds_itself_is_noticed(turnstile_conn):
    enqueue(turnstile_conn, "a")
    with pytest.raises(AssertionError, match="add itself"):
        drain(turnstile_conn, {"a": lambda run: enqueue(turnstile_conn, "a") and None}, most=20)


def test_what_was_enqueued_is_asserted(turnstile_conn):
    enqueue(turnstile_conn, "mail", {"to": "a", "cc": "b"}, queue="mails")
    [found] = assert_enqueued(turnstile_conn, "mail", payload={"to": "a"}, queue="mails")
    assert found["payload"] == {"to": "a", "cc": "b"}
    assert_enqueued(turnstile_conn, "mail", count=0, queue="other")
    with pytest.raises(AssertionError, match="expected a job with .*'mail'"):
        assert_enqueued(turnstile_conn, "mail", payload={"to": "c"})


def test_inline_runs_each_job_at_once(turnstile_conn):
    order = []

    def outer(run):
        order.append("outer begins")
        enqueue(turnstile_conn, "inner")
        order.append("outer ends")

    with inline({"outer": outer, "inner": lambda run: order.append("inner")}):
        enqueue(turnstile_conn, "outer")
        order.append("enqueued")
    assert order == ["outer begins", "outer ends", "inner", "enqueued"]
    enqueue(turnstile_conn, "inner")
    assert len(order) == 4
