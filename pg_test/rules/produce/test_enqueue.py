"""Enqueue: what a new job is, and what the batch form makes of its array."""

import json
from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from support import rows
from support.calls import call, claim, claim_all, claim_next, enqueue, enqueue_many, ids
from support.errors import BAD_VALUE, refused
from support.settings import configure

EVERY_ARGUMENT = {
    "kind": "mail.send",
    "payload": {"to": ["a@example.org"], "n": 1.5, "deep": {"null": None}},
    "queue": "mail",
    "tenant": "acme",
    "account": "sales",
    "session": "chat-1",
    "concurrency_key": "smtp",
    "priority": -7,
    "max_attempts": 3,
    "metadata": {"trace": "abc"},
}


def test_a_job_has_the_documented_defaults(conn):
    row = rows.live(conn, call(conn, "enqueue", kind="work")[0][0])
    assert (row.queue, row.kind, row.payload, row.priority, row.state) == ("default", "work", {}, 0, "available")
    assert (row.tenant, row.account, row.session, row.concurrency_key) == (None, None, None, None)
    assert (row.attempt, row.worker, row.claimed_at, row.lease_expires_at) == (0, None, None, None)
    assert claim_next(conn).max_attempts == 25


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])
def test_every_argument_arrives_in_the_row(conn, by):
    if by == "enqueue":
        job_id = enqueue(conn, **EVERY_ARGUMENT)
    else:
        job_id = enqueue_many(conn, [EVERY_ARGUMENT])[0].id
    row = rows.live(conn, job_id)
    assert {name: getattr(row, name) for name in EVERY_ARGUMENT} == EVERY_ARGUMENT


def test_a_claimed_job_carries_what_was_enqueued(conn):
    job_id = enqueue(conn, **EVERY_ARGUMENT)
    job = claim_next(conn, "mail")
    returned = EVERY_ARGUMENT.keys() - {"concurrency_key"}
    assert {name: getattr(job, name) for name in returned} == {name: EVERY_ARGUMENT[name] for name in returned}
    assert (job.id, job.attempt) == (job_id, 1)
    assert job.created_at <= job.lease_expires_at


@pytest.mark.parametrize("payload", ["null", "0", '"text"', "[]", '[1, {"a": "\\u00e9"}]', '{"a": {"b": [null]}}'])
def test_a_payload_is_any_json_and_kept_as_it_is(conn, payload):
    conn.execute("SELECT turnstile.enqueue('work', %s::jsonb)", [payload])
    assert claim_next(conn).payload == json.loads(payload)


def test_two_enqueues_alike_are_two_jobs(conn):
    assert enqueue(conn) != enqueue(conn)
    assert len(claim_all(conn)) == 2


@pytest.mark.parametrize(
    ("ahead", "state"),
    [(None, "available"), (timedelta(hours=-1), "available"), (timedelta(0), "available"), (timedelta(hours=1), "scheduled")],
)
def test_run_at_ahead_makes_a_job_scheduled(conn, ahead, state):
    run_at = None if ahead is None else rows.clock(conn) + ahead
    job_id = enqueue(conn, run_at=run_at)
    assert rows.state(conn, job_id) == state
    assert (claim_next(conn) is not None) == (state == "available")


@pytest.mark.parametrize("run_at", ["infinity", "-infinity"])
def test_an_endless_run_at_stalls_no_other_job(conn, run_at):
    enqueue(conn, run_at=run_at)
    plain = enqueue(conn)
    assert plain in ids(claim_all(conn))


@pytest.mark.parametrize(("row", "given", "expected"), [("mail", None, 4), ("*", None, 4), ("mail", 2, 2)])
def test_the_queue_sets_max_attempts_unless_the_job_does(conn, row, given, expected):
    configure(conn, "queue", row, max_attempts=4)
    enqueue(conn, queue="mail", max_attempts=given)
    assert claim_next(conn, "mail").max_attempts == expected


def test_enqueue_many_answers_in_the_order_of_the_array(conn):
    answers = enqueue_many(conn, [{"kind": f"k{n}"} for n in range(1, 51)])
    assert [answer.ord for answer in answers] == list(range(1, 51))
    assert all(answer.created for answer in answers)
    assert [rows.live(conn, answer.id).kind for answer in answers] == [f"k{n}" for n in range(1, 51)]


def test_enqueue_many_enqueues_in_the_order_of_the_array(conn):
    first = enqueue(conn)
    answers = enqueue_many(conn, [{"kind": "work"}] * 50)
    last = enqueue(conn)
    assert ids(claim_all(conn)) == [first, *ids(answers), last]


def test_enqueue_many_of_an_empty_array_is_no_rows(conn):
    assert enqueue_many(conn, []) == []
    assert rows.everything(conn) == []


def test_enqueue_many_takes_jobs_of_many_queues(conn):
    answers = enqueue_many(conn, [{"kind": "work", "queue": queue} for queue in ("a", "b", "a")])
    assert ids(claim(conn, ["b", "a"], 10)) == [answers[1].id, answers[0].id, answers[2].id]


def test_enqueue_many_takes_run_at_as_text(conn):
    ahead = rows.clock(conn) + timedelta(hours=1)
    [answer] = enqueue_many(conn, [{"kind": "work", "run_at": ahead.isoformat()}])
    row = rows.live(conn, answer.id)
    assert (row.state, row.run_at) == ("scheduled", ahead)


@pytest.mark.parametrize("bad", [{}, {"kind": ""}, {"kind": "work", "colour": "red"}, 7])
def test_one_bad_element_enqueues_nothing(conn, bad):
    with refused(BAD_VALUE):
        enqueue_many(conn, [{"kind": "work"}, bad, {"kind": "work"}])
    assert rows.everything(conn) == []
    assert claim_next(conn) is None


def test_a_batch_with_a_gate_is_admitted_by_it(conn):
    configure(conn, "tenant", "acme", slots=2)
    answers = enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * 5)
    assert ids(claim_all(conn)) == ids(answers)[:2]


def test_positional_arguments_follow_the_documented_order(conn):
    job_id = conn.execute(
        "SELECT turnstile.enqueue('work', %s, 'mail', 'acme', 'sales', 'chat-1', 'smtp', 4, NULL, 9)", [Jsonb({"a": 1})]
    ).fetchone()[0]
    row = rows.live(conn, job_id)
    assert (row.kind, row.payload, row.queue, row.tenant) == ("work", {"a": 1}, "mail", "acme")
    assert (row.account, row.session, row.concurrency_key, row.priority) == ("sales", "chat-1", "smtp", 4)
    assert row.max_attempts == 9
