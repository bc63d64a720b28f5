"""What each endpoint of examples/endpoints must do under `turnstile dispatch`."""

import json

import pytest

from support.calls import call, enqueue, enqueue_many
from support.dispatch import Dispatch, set_endpoint
from support.ended import await_counts, await_state, errors, result
from support.example_endpoints import FILES, Endpoint


@pytest.fixture(params=FILES)
def endpoint(request):
    started = Endpoint(request.param)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def dispatcher(db, conn, endpoint):
    call(conn, "set_queue", name="*", retry_base="100 milliseconds", retry_cap="100 milliseconds")
    # Not one at a time, however often it does not answer.
    set_endpoint(conn, "mail", endpoint.url, permanent_status=[422], keep_response=True, trial_after=0)
    started = Dispatch(db.name, "--queues", "default", "--concurrency", 8)
    yield started
    started.kill()


def test_it_answers_anybody(endpoint):
    kind, text = endpoint.ask('{"to": "ada"}', "job_1")
    assert kind.startswith("application/json")
    assert json.loads(text) == {"id": "job_1", "sent_to": "ada"}


def test_jobs_are_done_and_the_answer_is_the_result(conn, endpoint, dispatcher):
    enqueue_many(conn, [{"kind": "mail", "payload": {"to": f"user {number}"}} for number in range(100)])
    await_counts(conn, completed=100)
    rows = conn.execute("SELECT id, payload->>'to', result FROM turnstile.jobs").fetchall()
    assert [row for row in rows if row[2] != {"id": f"job_{row[0]}", "sent_to": row[1]}] == []


def test_a_payload_that_it_refuses_discards_the_job(conn, endpoint, dispatcher):
    refused, after = enqueue(conn, "mail", payload={}), enqueue(conn, "mail", payload={"to": "ada"})
    await_state(conn, refused, "discarded")
    assert "422" in errors(conn, refused)[0]
    await_state(conn, after, "completed")


def test_jobs_outlast_an_endpoint_that_is_away(conn, endpoint, dispatcher):
    endpoint.stop()
    job = enqueue(conn, "mail", payload={"to": "ada"})
    await_state(conn, job, "retryable")
    endpoint.start()
    await_state(conn, job, "completed")
    assert result(conn, job) == {"id": f"job_{job}", "sent_to": "ada"}
