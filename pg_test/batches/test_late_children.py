"""A callback that adds children without waiting for them: its next run is told of those that have ended by then."""

import pytest

from support.batches import await_children, ended, enqueue_batch, of
from support.calls import (
    call, cancel, claim_next, complete, complete_and_claim_next, discard, enqueue, fail, release, retry, snooze,
)  # fmt: skip
from support.sleepers import Sleeper, until

# With a trigger of a user's, claims are made by statements.
TRIGGER = """
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER pass BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass();
"""

PUT_BACK = {
    "fail": lambda conn, run: fail(conn, run, error="x", retry_in="0"),
    "release": release,
    "snooze": lambda conn, run: snooze(conn, run, "0"),
}
each_way_back = pytest.mark.parametrize("put_back", PUT_BACK.values(), ids=PUT_BACK.keys())


def _waits_for_lock(conn, pid: int) -> bool:
    return conn.execute("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()[0]


def _callback(conn):
    """Its first run: one child has completed."""
    enqueue_batch(conn, children=of(1))
    complete(conn, claim_next(conn))
    run = claim_next(conn)
    assert run.children == ended(1)
    return run


def _shown(conn, batch) -> dict:
    columns = "total, waiting, running, completed, discarded, cancelled"
    cursor = conn.execute(f"SELECT {columns} FROM turnstile.batches WHERE id = %s", [batch])
    return dict(zip(columns.split(", "), cursor.fetchone(), strict=True))


def _is_shown(conn, batch, **figures) -> bool:
    none = {"total": 0, "waiting": 0, "running": 0, "completed": 0, "discarded": 0, "cancelled": 0}
    return _shown(conn, batch) == none | figures


@each_way_back
def test_the_next_run_is_told_of_it(conn, put_back):
    run = _callback(conn)
    enqueue(conn, parent=run.id, priority=-1)
    discard(conn, claim_next(conn))
    put_back(conn, run)
    again = claim_next(conn)
    assert (again.id, again.children) == (run.id, ended(1, 1))


def test_also_where_claims_are_made_by_statements(conn):
    conn.execute(TRIGGER)
    run = _callback(conn)
    enqueue(conn, parent=run.id, priority=-1)
    discard(conn, claim_next(conn))
    fail(conn, run, error="x", retry_in="0")
    assert claim_next(conn).children == ended(1, 1)


def test_each_run_is_told_how_it_is_then(conn):
    run = _callback(conn)
    for _ in range(2):
        enqueue(conn, parent=run.id, priority=1)
    fail(conn, run, error="x", retry_in="0")
    run = claim_next(conn)
    assert run.children == ended(1)
    complete(conn, claim_next(conn))
    fail(conn, run, error="x", retry_in="0")
    late = claim_next(conn)
    assert (late.id, late.children) == (run.id, ended(2))
    [left] = conn.execute("SELECT id FROM turnstile.job WHERE parent = %s", [run.id]).fetchone()
    cancel(conn, left)
    fail(conn, late, error="x", retry_in="0")
    assert claim_next(conn).children == ended(2, 0, 1)


def test_a_child_that_comes_back_has_not_ended(conn):
    enqueue_batch(conn, children=of(1))
    child = claim_next(conn)
    discard(conn, child)
    run = claim_next(conn)
    assert run.children == ended(0, 1)
    retry(conn, child.id)
    fail(conn, run, error="x", retry_in="0")
    found = {job.id: job for job in (claim_next(conn), claim_next(conn))}
    assert found[run.id].children == ended()
    complete(conn, found[child.id])
    fail(conn, found[run.id], error="x", retry_in="0")
    assert claim_next(conn).children == ended(1)


def test_one_that_is_undone_was_never_added(conn):
    run = _callback(conn)
    with conn.transaction(force_rollback=True):
        enqueue(conn, parent=run.id)
    with conn.transaction():
        with conn.transaction(force_rollback=True):
            enqueue(conn, parent=run.id)
        enqueue(conn)
    stored = conn.execute("SELECT children FROM turnstile.job WHERE id = %s", [run.id]).fetchone()[0]
    assert stored == ended(1)
    fail(conn, run, error="x", retry_in="0")
    [again] = [job for job in (claim_next(conn), claim_next(conn)) if job.id == run.id]
    assert again.children == ended(1)


def test_who_waits_for_them_is_told_once_they_have_ended(conn):
    run = _callback(conn)
    enqueue(conn, parent=run.id)
    assert await_children(conn, run)
    discard(conn, claim_next(conn))
    assert claim_next(conn).children == ended(1, 1)


def test_a_claim_that_follows_is_told_too(conn):
    run = _callback(conn)
    enqueue(conn, parent=run.id, priority=-1)
    child = claim_next(conn)
    fail(conn, run, error="x", retry_in="0")
    assert complete_and_claim_next(conn, child, queue="default").children == ended(2)


def test_who_adds_another_one_while_the_first_is_undone(db, conn, other):
    run = _callback(conn)
    other.execute("BEGIN")
    enqueue(other, parent=run.id)
    late = Sleeper(db.connect(), "SELECT turnstile.enqueue('work', parent => %(parent)s)", parent=run.id)
    until(lambda: _waits_for_lock(conn, late.pid), "it waits for the first")
    other.execute("ROLLBACK")
    assert late.returned().error is None
    complete(conn, claim_next(conn))
    fail(conn, run, error="x", retry_in="0")
    assert claim_next(conn).children == ended(2)


def test_the_view_counts_what_was_added(conn):
    run = _callback(conn)
    assert _is_shown(conn, run.id, total=1, completed=1)
    enqueue(conn, parent=run.id)
    assert _is_shown(conn, run.id, total=2, waiting=1, completed=1)
    discard(conn, claim_next(conn))
    assert _is_shown(conn, run.id, total=2, completed=1, discarded=1)
    complete(conn, run)
    assert _is_shown(conn, run.id, total=2, completed=1, discarded=1)


def test_an_ordinary_run_is_told_nothing(conn):
    job = enqueue(conn)
    run = claim_next(conn)
    enqueue(conn, parent=job)
    complete(conn, claim_next(conn))
    call(conn, "release", job_id=job, attempt=run.attempt)
    assert claim_next(conn).children is None
