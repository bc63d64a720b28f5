"""Adding children: from outside, from a child, from the parent's own run; and to what none can be added."""

import psycopg
import pytest

from support import rows
from support.batches import (
    await_children, callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, enqueue_batch,
    nothing_comes, of,
)  # fmt: skip
from support.calls import cancel, claim, claim_next, complete, discard, enqueue, enqueue_many, fail, ids, release
from support.errors import BAD_VALUE, NO_SUCH_JOB, TOO_LONG, WRONG_STATE, refused


def _by_enqueue(conn, parent: int, **keys) -> int:
    return enqueue(conn, parent=parent, **keys)


def _by_enqueue_many(conn, parent: int, **keys) -> int:
    return enqueue_many(conn, [{"kind": "work", "parent": parent, **keys}])[0].id


def _by_enqueue_batch(conn, parent: int, **keys) -> int:
    return enqueue_batch(conn, children=of(1), parent=parent, **keys)


def _by_insert(conn, parent: int, **keys) -> int:
    named = {"kind": "work", "parent": parent, **keys}
    query = psycopg.sql.SQL("INSERT INTO turnstile.job ({}) VALUES ({}) RETURNING id").format(
        psycopg.sql.SQL(", ").join(map(psycopg.sql.Identifier, named)),
        psycopg.sql.SQL(", ").join(map(psycopg.sql.Placeholder, named)),
    )
    return conn.execute(query, named).fetchone()[0]


def _by_update(conn, parent: int, **keys) -> int:
    job_id = enqueue(conn, **keys)
    conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [parent, job_id])
    return job_id


WAYS = {
    "enqueue": _by_enqueue,
    "enqueue_many": _by_enqueue_many,
    "enqueue_batch": _by_enqueue_batch,
    "INSERT": _by_insert,
    "UPDATE": _by_update,
}
each_way = pytest.mark.parametrize("add", WAYS.values(), ids=WAYS.keys())


# ---- From outside and from a child ----------------------------------------------------------------


@each_way
def test_a_child_from_outside_counts(conn, add):
    batch = enqueue_batch(conn, children=of(1))
    [first] = claim_just(conn, 1)
    added = add(conn, batch)
    complete(conn, first)
    run = claim_awaited(conn)
    if add is _by_enqueue_batch:
        complete(conn, run)
        run = callback_of(conn, added)
    assert run.id == added
    nothing_comes(conn)
    complete(conn, run)
    assert callback_of(conn, batch).children == ended(completed=2)


@each_way
def test_a_child_is_held_by_the_gate_from_the_start(conn, add):
    """A batch in it, too: its own children start once it has had its turn."""
    batch = enqueue_batch(conn, children=of(1), slots=1)
    [run] = claim_just(conn, 1)
    add(conn, batch)
    nothing_comes(conn)
    complete(conn, run)
    claim_just(conn, 1)


def test_a_child_adds_brothers_and_children_of_its_own(conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    brother = enqueue(conn, parent=batch)
    own = enqueue(conn, parent=run.id)
    assert await_children(conn, run) is True
    runs = claim_just(conn, 2)
    assert ids(runs) == [brother, own]
    complete_all(conn, runs)
    again = claim_awaited(conn)
    assert (again.id, again.children) == (run.id, ended(completed=1))
    nothing_comes(conn)
    complete(conn, again)
    assert callback_of(conn, batch).children == ended(completed=2)


def test_children_are_added_to_a_batch_that_waits_its_turn(conn):
    before = enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(1), session="admin")
    run = claim_next(conn)
    assert run.id == before
    enqueue(conn, parent=batch)
    nothing_comes(conn)
    complete(conn, run)
    complete_all(conn, claim_just(conn, 2))
    assert callback_of(conn, batch).children == ended(completed=2)


def test_a_child_taken_out_no_longer_counts(conn):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    complete(conn, first)
    conn.execute("UPDATE turnstile.job SET parent = NULL WHERE id = %s", [second.id])
    assert callback_of(conn, batch).children == ended(completed=1)
    assert complete(conn, second) is True


def test_a_child_moved_to_another_batch_counts_there(conn):
    first, second = (enqueue_batch(conn, children=of(1)) for _ in range(2))
    [moved] = children_of(conn, first)
    children = claim_just(conn, 2)
    conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [second, moved])
    assert callback_of(conn, first).children == ended()
    complete_all(conn, children)
    assert callback_of(conn, second).children == ended(completed=2)


def test_an_inserted_child_inherits_nothing(conn):
    batch = enqueue_batch(conn, children=of(1), queue="mail", tenant="acme", priority=4)
    child = _by_insert(conn, batch)
    row = rows.live(conn, child)
    assert (row.queue, row.tenant, row.priority, row.parent) == ("default", None, 0, batch)


def test_a_child_added_and_rolled_back_does_not_count(conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    conn.execute("BEGIN")
    enqueue(conn, parent=batch)
    conn.execute("SAVEPOINT s")
    enqueue(conn, parent=batch)
    conn.execute("ROLLBACK TO SAVEPOINT s; ROLLBACK")
    complete(conn, run)
    assert callback_of(conn, batch).children == ended(completed=1)


# ---- To what none can be added --------------------------------------------------------------------


def _ended_by(conn, end) -> int:
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    end(conn, callback_of(conn, batch))
    return batch


def _cancelled(conn) -> int:
    batch = enqueue_batch(conn, children=of(1))
    cancel(conn, batch)
    ends_as(conn, batch, "cancelled")
    return batch


def _being_stopped(conn) -> int:
    batch = enqueue_batch(conn, children=of(1))
    claim_just(conn, 1)
    cancel(conn, batch)
    return batch


def _with_a_callback_to_come(conn) -> int:
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    release(conn, callback_of(conn, batch))
    return batch


def _failed(conn) -> int:
    job_id = enqueue(conn)
    fail(conn, claim_next(conn), retry_in="1 hour")
    return job_id


CLOSED = {
    "completed": lambda conn: _ended_by(conn, complete),
    "discarded": lambda conn: _ended_by(conn, discard),
    "cancelled": _cancelled,
    "being stopped": _being_stopped,
    "its callback to come": _with_a_callback_to_come,
    "an available job": enqueue,
    "a scheduled job": lambda conn: enqueue(conn, run_at="2100-01-01"),
    "a retryable job": _failed,
    "a follower": lambda conn: enqueue(conn, after=[enqueue(conn)]),
}


@each_way
@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED.keys())
def test_to_a_job_that_takes_no_children_none_is_added(conn, add, closed):
    parent = closed(conn)
    before = rows.everything(conn)
    with refused(WRONG_STATE), conn.transaction():
        add(conn, parent)
    assert rows.everything(conn) == before


@each_way
def test_to_an_unknown_job_none_is_added(conn, add):
    with refused(NO_SUCH_JOB), conn.transaction():
        add(conn, 10**9)
    assert rows.everything(conn) == []


# ---- Sessions of ancestors, levels, circles -------------------------------------------------------


@each_way
def test_a_child_in_the_session_of_its_parent_is_refused(conn, add):
    parent = enqueue_batch(conn, children=of(1), queue="mail", tenant="acme", session="admin")
    before = rows.everything(conn)
    with refused(BAD_VALUE), conn.transaction():
        add(conn, parent, queue="mail", tenant="acme", session="admin")
    assert rows.everything(conn) == before


@each_way
def test_a_child_in_the_session_of_an_ancestor_is_refused(conn, add):
    top = enqueue_batch(conn, children=of(1), session="admin")
    parent = enqueue_batch(conn, children=of(1), parent=top, session="other")
    with refused(BAD_VALUE), conn.transaction():
        add(conn, parent, session="admin")


def test_a_child_among_those_of_enqueue_batch_is_refused_too(conn):
    with refused(BAD_VALUE):
        enqueue_batch(conn, children=[*of(2), *of(1, session="admin")], session="admin")
    assert rows.everything(conn) == []


@each_way
@pytest.mark.parametrize("apart", [{"queue": "sms", "tenant": "acme"}, {"queue": "mail", "tenant": "globex"}])
def test_a_session_of_that_name_elsewhere_is_another(conn, add, apart):
    parent = enqueue_batch(conn, children=of(1), queue="mail", tenant="acme", session="admin")
    assert add(conn, parent, session="admin", **apart)


def test_a_child_moved_into_the_session_of_its_parent_is_refused(conn):
    parent = enqueue_batch(conn, children=of(1), session="admin")
    [child] = children_of(conn, parent)
    with refused(BAD_VALUE), conn.transaction():
        conn.execute("UPDATE turnstile.job SET session = 'admin' WHERE id = %s", [child])


def test_jobs_moved_by_one_transaction_do_not_wait_for_each_other(conn):
    """What it knows of a parent is what its own moves have made of it."""
    top, middle = (enqueue_batch(conn, children=of(1)) for _ in range(2))
    lowest = enqueue_batch(conn, children=of(1), parent=middle)
    conn.execute("BEGIN")
    enqueue(conn, parent=lowest)
    conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [top, middle])
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [lowest, top])
    conn.execute("ROLLBACK")


def test_more_than_a_hundred_levels_are_refused(conn):
    parent, levels = None, 0
    with refused(TOO_LONG):
        while levels < 150:
            parent = enqueue_batch(conn, children=of(1), parent=parent)
            levels += 1
    assert 95 <= levels <= 101


def test_nobody_is_its_own_ancestor(conn):
    outer = enqueue_batch(conn, children=of(1))
    inner = enqueue_batch(conn, children=of(1), parent=outer)
    for child, parent in ((outer, inner), (outer, outer)):
        with pytest.raises(psycopg.Error) as caught, conn.transaction():
            conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [parent, child])
        assert caught.value.sqlstate in (BAD_VALUE, TOO_LONG)


@each_way
def test_a_refusal_in_a_savepoint_leaves_the_transaction_usable(conn, add):
    batch = enqueue_batch(conn, children=of(1))
    conn.execute("BEGIN")
    with refused(NO_SUCH_JOB), conn.transaction():
        add(conn, 10**9)
    enqueue(conn, parent=batch)
    conn.execute("COMMIT")
    complete_all(conn, claim_just(conn, 2))
    assert callback_of(conn, batch).children == ended(completed=2)
