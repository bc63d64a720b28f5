"""`*` in a claim of a role that may work on some queues: what a claim from every queue gives, without the others."""

import random

import pytest
from psycopg import sql

from support.calls import claim, claim_next, enqueue, ids
from support.database import fresh_database
from support.errors import NO_PRIVILEGE, TOO_LONG, refused
from support.settings import configure

QUEUES = ["mail", "sms", "fax", "post"]


def wait(conn, timeout: str) -> None:
    conn.execute("CALL turnstile.wait_for_job('{*}', %s)", [timeout])


@pytest.fixture
def worker(db, conn, role):
    """A connection that may work on all of these queues but post."""
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole, %s)", [role, QUEUES[:3]])
    connection = db.connect()
    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    return connection


def _fill(conn, chance: random.Random) -> None:
    for _ in range(60):
        more = {}
        if chance.random() < 0.3:
            more["session"] = chance.choice("abc")
        if chance.random() < 0.5:
            more["tenant"] = chance.choice(["acme", "globex"])
        enqueue(conn, queue=chance.choice(QUEUES), priority=chance.randint(0, 3), **more)


def _settings(conn, which: str) -> None:
    if which == "limits":
        configure(conn, "queue", "mail", max_running=2)
        configure(conn, "tenant", "acme", slots=3)
    if which == "aging":
        configure(conn, "queue", "sms", aging="1 hour")
    if which == "fair":
        configure(conn, "queue", "fax", policy="fair")


@pytest.mark.parametrize("which", ["plain", "limits", "aging", "fair"])
@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_the_order_is_that_of_a_claim_from_every_queue(conn, worker, seed, which, at_once):
    """What the owner is given in a database that has the same jobs but those of the queue that the worker may not touch."""
    with fresh_database() as twin:
        owner = twin.connect()
        for session in (conn, owner):
            _settings(session, which)
            _fill(session, random.Random(seed))
        owner.execute("DELETE FROM turnstile.job WHERE queue = 'post'")
        taken = {}
        for name, session in (("owner", owner), ("worker", worker)):
            taken[name] = []
            while jobs := claim(session, ["*"], at_once):
                taken[name] += ids(jobs)
    assert taken["worker"] == taken["owner"]
    assert taken["owner"]


def test_other_queues_are_passed_over_even_if_they_come_first(conn, worker):
    forbidden = enqueue(conn, queue="post", priority=-9)
    wanted = [enqueue(conn, queue=queue, priority=at) for at, queue in enumerate(("sms", "mail", "fax"))]
    assert ids(claim(worker, ["*"], 9)) == wanted
    assert claim_next(worker, "*") is None
    assert claim_next(conn, "*").id == forbidden


def test_named_queues_come_first_and_then_the_others(conn, worker):
    last = enqueue(conn, queue="sms")
    first = enqueue(conn, queue="fax", priority=5)
    enqueue(conn, queue="post")
    assert ids(claim(worker, ["fax", "*"], 9)) == [first, last]


def test_jobs_that_fall_due_are_found(conn, worker):
    enqueue(conn, queue="mail", run_at="2001-01-01")
    conn.execute("UPDATE turnstile.job SET state = 'scheduled'")
    assert claim_next(worker, "*") is not None


def test_a_sleeper_is_not_woken_for_what_he_may_not_claim(conn, worker):
    """It would be a wake-up that nobody else gets."""
    enqueue(conn, queue="post")
    began = conn.execute("SELECT clock_timestamp()").fetchone()[0]
    wait(worker, timeout="0.3 s")
    ended = conn.execute("SELECT clock_timestamp()").fetchone()[0]
    assert (ended - began).total_seconds() >= 0.3
    enqueue(conn, queue="sms")
    wait(worker, timeout="1 minute")
    assert claim_next(worker, "*").queue == "sms"


def test_more_queues_than_can_be_waited_for(conn, worker, role):
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole, %s)", [role, [f"q{number}" for number in range(40)]])
    with refused(TOO_LONG):
        wait(worker, timeout="0")
    enqueue(conn, queue="q39")
    assert claim_next(worker, "*").queue == "q39"


def test_who_may_work_on_all_listens_to_all(conn, worker, role):
    with refused(NO_PRIVILEGE):
        worker.execute("SELECT turnstile.listen_channel('*')")
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole)", [role])
    assert worker.execute("SELECT turnstile.listen_channel('*')").fetchone()
    enqueue(conn, queue="post")
    assert claim_next(worker, "*").queue == "post"
