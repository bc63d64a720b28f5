"""The priority of a batch is that of all its waiting children, and of those to come."""

import pytest

from support import rows
from support.batches import awaited, children_of, claim_awaited, claim_just, enqueue_batch, of, set_batch
from support.calls import enqueue, ids

OTHERWISE = "SELECT count(*)::int FROM turnstile.job WHERE parent = %s AND state = 'available' AND priority <> %s"

WAYS = {
    "UPDATE": lambda conn, batch, priority: conn.execute(
        "UPDATE turnstile.batch SET priority = %s WHERE id = %s", [priority, batch]
    ),
    "set_batch": lambda conn, batch, priority: set_batch(conn, batch, priority=priority),
}
each_way = pytest.mark.parametrize("change", WAYS.values(), ids=WAYS.keys())


@each_way
def test_a_changed_priority_reaches_all_waiting_children(conn, change):
    batch = enqueue_batch(conn, children=of(2_500), priority=5)
    plain = enqueue(conn)
    assert claim_awaited(conn).id == plain
    change(conn, batch, -5)
    urgent = enqueue(conn, priority=-4)
    awaited(conn, OTHERWISE, 0, batch, -5)
    assert claim_awaited(conn).id in children_of(conn, batch)
    change(conn, batch, 9)
    awaited(conn, OTHERWISE, 0, batch, 9)
    assert claim_awaited(conn).id == urgent
    assert len(children_of(conn, batch)) == 2_500


@each_way
def test_children_to_come_have_the_priority_of_the_batch(conn, change):
    batch = enqueue_batch(conn, children=of(1), priority=5)
    change(conn, batch, -5)
    child = enqueue(conn, parent=batch)
    assert rows.live(conn, child).priority == -5


def test_the_priority_moves_in_short_transactions(conn):
    """No transaction has moved all of them: each that did is the last that wrote its rows."""
    batch = enqueue_batch(conn, children=of(10_000))
    set_batch(conn, batch, priority=-5)
    awaited(conn, OTHERWISE, 0, batch, -5)
    [most] = conn.execute(
        "SELECT max(moved)::int FROM (SELECT count(*) AS moved FROM turnstile.job WHERE parent = %s GROUP BY xmin::text) AS by_one",
        [batch],
    ).fetchone()
    assert most < 5_000
    assert len(children_of(conn, batch)) == 10_000


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_a_priority_rolled_back_never_was(conn, undo):
    batch = enqueue_batch(conn, children=of(3), priority=5)
    conn.execute("BEGIN; SAVEPOINT s")
    set_batch(conn, batch, priority=-5)
    conn.execute(undo)
    plain = enqueue(conn)
    taken = ids(claim_just(conn, 4))
    assert taken == [plain, *children_of(conn, batch)]
    assert conn.execute(OTHERWISE.replace("'available'", "'running'"), [batch, 5]).fetchone() == (0,)
