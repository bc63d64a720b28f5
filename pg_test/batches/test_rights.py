"""Who may make batches, add to them, change them and see them."""

import psycopg
import pytest
from psycopg import sql

from support.batches import children_of, claim_just, enqueue_batch, of, set_batch
from support.calls import call, claim_next, enqueue, enqueue_many
from support.errors import NO_PRIVILEGE, NO_SUCH_JOB, refused

CALLS = {
    "enqueue_batch": {"kind": "work"},
    "await_children": {"job_id": 1, "attempt": 1},
    "set_batch": {"id": 1},
    "batch_results": {"id": 1},
}
READS = ["SELECT 1 FROM turnstile.batch", "SELECT 1 FROM turnstile.dependency", "SELECT 1 FROM turnstile.batches", "SELECT 1 FROM turnstile.dependencies"]


@pytest.fixture
def caller(db, conn, role):
    """A connection of a role that has been given what `allow` says."""

    def allow(kind: str | None = None, *arguments):
        if kind:
            given = ", ".join(["%s::text::regrole", *["%s::text[]"] * len(arguments)])
            conn.execute(f"SELECT turnstile.allow_{kind}({given})", [role, *arguments])
        else:
            conn.execute(sql.SQL("GRANT USAGE ON SCHEMA turnstile TO {}").format(sql.Identifier(role)))
        connection = db.connect()
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        return connection

    return allow


def test_a_role_without_rights_can_do_nothing(caller):
    nobody = caller()
    for function, arguments in CALLS.items():
        with pytest.raises(psycopg.Error) as caught:
            call(nobody, function, **arguments)
        assert caught.value.sqlstate == NO_PRIVILEGE, function
    for statement in [*READS, "CALL turnstile.wait_for_end(1, '0')"]:
        with pytest.raises(psycopg.Error) as caught:
            nobody.execute(statement)
        assert caught.value.sqlstate == NO_PRIVILEGE, statement


def test_a_producer_makes_batches_where_it_may_enqueue(conn, caller):
    producer = caller("producer", ["mail"], ["acme"])
    batch = enqueue_batch(producer, children=of(2), queue="mail", tenant="acme", slots=1)
    assert enqueue(producer, parent=batch) == children_of(conn, batch)[2]
    for where in ({"queue": "sms", "tenant": "acme"}, {"queue": "mail", "tenant": "globex"}):
        with refused(NO_PRIVILEGE):
            enqueue_batch(producer, children=of(1), **where)
        with refused(NO_PRIVILEGE):
            enqueue_batch(producer, children=of(1, **where), queue="mail", tenant="acme")
    assert len(children_of(conn, batch)) == 3


@pytest.mark.parametrize("add", [
    lambda conn, **keys: enqueue(conn, queue="mail", tenant="acme", **keys),
    lambda conn, **keys: enqueue_many(conn, [{"kind": "work", "queue": "mail", "tenant": "acme", **keys}]),
    lambda conn, **keys: enqueue_batch(conn, queue="mail", tenant="acme", **keys),
], ids=["enqueue", "enqueue_many", "enqueue_batch"])  # fmt: skip
@pytest.mark.parametrize("key", ["parent", "after"])
def test_a_producer_touches_no_job_of_others(conn, caller, add, key):
    """It could hold them up, or learn how they end."""
    batch = enqueue_batch(conn, children=of(1), queue="mail", tenant="globex")
    producer = caller("producer", ["mail"], ["acme"])
    with pytest.raises(psycopg.Error) as caught:
        add(producer, **{key: batch if key == "parent" else [batch]})
    assert caught.value.sqlstate in (NO_PRIVILEGE, NO_SUCH_JOB)
    assert len(children_of(conn, batch)) == 1


def test_a_worker_steps_aside_and_changes_no_settings(conn, caller):
    worker = caller("worker", ["mail"])
    enqueue(conn, queue="mail")
    run = claim_next(worker, "mail")
    enqueue(conn, parent=run.id)
    assert call(worker, "await_children", job_id=run.id, attempt=run.attempt)[0][0] is True
    batch = enqueue_batch(conn, children=of(1))
    with pytest.raises(psycopg.Error) as caught:
        set_batch(worker, batch, slots=1)
    assert caught.value.sqlstate == NO_PRIVILEGE


def test_a_worker_of_another_queue_cannot_make_a_run_step_aside(conn, caller):
    worker = caller("worker", ["sms"])
    enqueue(conn, queue="mail")
    run = claim_next(conn, "mail")
    enqueue(conn, parent=run.id)
    with pytest.raises(psycopg.Error) as caught:
        call(worker, "await_children", job_id=run.id, attempt=run.attempt)
    assert caught.value.sqlstate in (NO_PRIVILEGE, NO_SUCH_JOB)


@pytest.mark.parametrize("way", ["set_batch", "UPDATE"])
def test_an_operator_changes_settings_and_sees_batches(conn, caller, way):
    batch = enqueue_batch(conn, children=of(3), slots=0)
    operator = caller("operator")
    if way == "set_batch":
        assert set_batch(operator, batch, slots=2).slots == 2
    else:
        operator.execute("UPDATE turnstile.batch SET slots = 2 WHERE id = %s", [batch])
    claim_just(conn, 2)
    assert operator.execute("SELECT total, running FROM turnstile.batches").fetchall() == [(3, 2)]


def test_an_operator_sees_what_comes_after_what_and_others_do_not(conn, caller):
    first = enqueue(conn, queue="mail", tenant="acme")
    later = enqueue(conn, queue="mail", tenant="acme", after=[first])
    seen = "SELECT predecessor, job FROM turnstile.dependencies"
    assert caller("operator").execute(seen).fetchall() == [(first, later)]


@pytest.mark.parametrize(("kind", "arguments"), [("tenant", [["acme"]]), ("monitor", []), ("worker", [["mail"]])])
def test_ids_of_jobs_of_others_are_for_operators(caller, kind, arguments):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        caller(kind, *arguments).execute("TABLE turnstile.dependencies")


@pytest.mark.parametrize(("kind", "arguments"), [("tenant", [["acme"]]), ("operator", [])])
def test_who_looks_at_jobs_may_know_the_last_id_but_draws_none(conn, caller, kind, arguments):
    """Lists of jobs go back from it."""
    last = enqueue(conn, tenant="globex")
    viewer = caller(kind, *arguments)
    assert viewer.execute("SELECT last_value FROM turnstile.job_id_seq").fetchone() == (last,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        viewer.execute("SELECT nextval('turnstile.job_id_seq')")
