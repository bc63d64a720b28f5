"""Crash, kill, restart and rebuild at any moment of a batch: one callback, never before the last child's end is committed."""


import pytest

from faults.cluster import crash_by_killing, own_cluster
from faults.witness import agrees
from support import rows
from support.batches import (
    awaited, callback_of, children_of, claim_awaited, complete_all, ended, ends_as, ends_of, enqueue_batch, nothing_comes, of,
    set_batch,
)  # fmt: skip
from support.calls import cancel, claim_next, complete, discard, enqueue
from support.database import fresh_database


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("batches_crashes", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _kill_a_backend(cluster, db):
    crash_by_killing(db.connect().info.backend_pid)


def _stop_at_once(cluster, db):
    cluster.restart(immediate=True)


def _stop(cluster, db):
    cluster.restart()


def _rebuild(cluster, db):
    db.connect().execute("SELECT turnstile.rebuild()")


FAULTS = {"SIGKILL": _kill_a_backend, "immediate stop": _stop_at_once, "stop": _stop, "rebuild()": _rebuild}
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())


def _after(cluster, db, fault):
    fault(cluster, db)
    return db.connect()


def _is_over(conn, batch: int, state: str = "completed", attempt: int = 1) -> None:
    assert ends_of(conn, batch) == [(state, attempt)]
    nothing_comes(conn)
    agrees(conn)


@each_fault
def test_while_children_run_and_wait(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(5), slots=2, session="admin")
    following = enqueue(conn, session="admin")
    runs = [claim_awaited(conn), claim_awaited(conn)]
    conn = _after(cluster, db, fault)
    nothing_comes(conn)
    complete_all(conn, runs)
    for _ in range(3):
        run = claim_awaited(conn)
        assert rows.live(conn, run.id).parent == batch
        complete(conn, run)
    run = callback_of(conn, batch)
    assert run.children == ended(completed=5)
    complete(conn, run)
    assert claim_awaited(conn).id == following
    assert ends_of(conn, batch) == [("completed", 1)]
    agrees(conn)


@each_fault
@pytest.mark.parametrize("end", [complete, discard])
def test_just_after_the_last_end(cluster, db, fault, end):
    """Nothing may have looked after it before."""
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(1))
    end(conn, claim_awaited(conn))
    conn = _after(cluster, db, fault)
    complete(conn, callback_of(conn, batch))
    _is_over(conn, batch)


@each_fault
def test_before_the_last_end_is_committed(cluster, db, fault):
    conn, finisher = db.connect(), db.connect()
    batch = enqueue_batch(conn, children=of(1))
    run = claim_awaited(conn)
    finisher.execute("BEGIN")
    complete(finisher, run)
    conn = _after(cluster, db, fault)
    nothing_comes(conn)
    if fault is _rebuild:
        finisher.execute("ROLLBACK")
        nothing_comes(conn)
    assert rows.state(conn, run.id) == "running"
    complete(conn, run)
    complete(conn, callback_of(conn, batch))
    _is_over(conn, batch)


@each_fault
def test_while_the_callback_runs(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(1))
    complete(conn, claim_awaited(conn))
    run = callback_of(conn, batch)
    conn = _after(cluster, db, fault)
    nothing_comes(conn)
    assert complete(conn, run) is True
    _is_over(conn, batch)


@each_fault
def test_after_the_end(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(1))
    complete(conn, claim_awaited(conn))
    complete(conn, callback_of(conn, batch))
    _is_over(_after(cluster, db, fault), batch)


@each_fault
def test_before_the_turn_of_the_batch(cluster, db, fault):
    conn = db.connect()
    enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(2), session="admin")
    run = claim_next(conn)
    conn = _after(cluster, db, fault)
    nothing_comes(conn)
    complete(conn, run)
    complete_all(conn, [claim_awaited(conn), claim_awaited(conn)])
    complete(conn, callback_of(conn, batch))
    _is_over(conn, batch)


@each_fault
def test_while_thousands_are_being_cancelled(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(3_000))
    cancel(conn, batch)
    conn = _after(cluster, db, fault)
    ends_as(conn, batch, "cancelled")
    assert children_of(conn, batch) == []
    _is_over(conn, batch, "cancelled", 0)


@each_fault
def test_while_too_many_have_failed(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(3_000), max_failed=0)
    discard(conn, claim_awaited(conn))
    conn = _after(cluster, db, fault)
    awaited(conn, "SELECT count(*)::int FROM turnstile.job WHERE parent = %s", 0, batch)
    run = callback_of(conn, batch)
    assert run.children == ended(discarded=1, cancelled=2_999)
    complete(conn, run)
    _is_over(conn, batch)


@each_fault
def test_settings_and_pauses_stay(cluster, db, fault):
    conn = db.connect()
    batch = enqueue_batch(conn, children=of(4), slots=1)
    run = claim_awaited(conn)
    set_batch(conn, batch, paused=True, slots=2)
    conn = _after(cluster, db, fault)
    nothing_comes(conn)
    set_batch(conn, batch, paused=False)
    claim_awaited(conn)
    nothing_comes(conn)
    complete(conn, run)
    agrees(conn)


@each_fault
def test_followers_are_released_after_it(cluster, db, fault):
    conn = db.connect()
    first = enqueue(conn)
    followers = [enqueue(conn, after=[first]) for _ in range(20)]
    later = enqueue(conn, after=followers)
    complete(conn, claim_awaited(conn))
    conn = _after(cluster, db, fault)
    runs = [claim_awaited(conn) for _ in followers]
    assert sorted(run.id for run in runs) == followers
    nothing_comes(conn)
    complete_all(conn, runs)
    assert claim_awaited(conn).id == later
    agrees(conn)


@each_fault
def test_nested_batches(cluster, db, fault):
    conn = db.connect()
    outer = enqueue_batch(conn, children=of(1))
    inner = enqueue_batch(conn, children=of(1), parent=outer)
    complete_all(conn, [claim_awaited(conn), claim_awaited(conn)])
    conn = _after(cluster, db, fault)
    run = callback_of(conn, inner)
    conn = _after(cluster, db, fault)
    complete(conn, run)
    conn = _after(cluster, db, fault)
    complete(conn, callback_of(conn, outer))
    _is_over(conn, outer)
