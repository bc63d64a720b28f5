"""why_waiting tells what a child, a parent and a follower wait for."""

from support.batches import await_children, claim_awaited, claim_just, children_of, enqueue_batch, is_open, of, set_batch
from support.calls import call, claim_next, complete, enqueue
from support.settings import configure


def why(conn, job: int) -> list:
    return call(conn, "why_waiting", job_id=job)


def reasons(conn, job: int) -> list:
    return [(row.reason, row.gate) for row in why(conn, job)]


def test_a_full_batch_says_how_full(conn):
    batch = enqueue_batch(conn, children=of(3), slots=2)
    claim_just(conn, 2)
    [row] = why(conn, children_of(conn, batch)[2])
    assert (row.reason, row.gate, row.name, row.running, row.slots) == ("full", "batch", str(batch), 2, 2)


def test_a_paused_batch(conn):
    batch = enqueue_batch(conn, children=of(2))
    claim_awaited(conn)
    set_batch(conn, batch, paused=True)
    assert reasons(conn, children_of(conn, batch)[1]) == [("paused", "batch")]


def test_a_batch_with_a_rate_opens_with_the_next_token(conn):
    batch = enqueue_batch(conn, children=of(2), rate=1, rate_per="10 days")
    claim_awaited(conn)
    [row] = why(conn, children_of(conn, batch)[1])
    assert (row.reason, row.gate) == ("rate", "batch")
    assert row.opens_at is not None


def test_all_that_is_closed_is_told(conn):
    batch = enqueue_batch(conn, children=of(2, tenant="acme"), slots=0)
    assert claim_next(conn) is None
    configure(conn, "tenant", "acme", paused=True)
    conn.execute("UPDATE turnstile.batch SET paused_until = '2100-01-01'")
    found = reasons(conn, children_of(conn, batch)[0])
    assert sorted(found) == [("full", "batch"), ("paused", "batch"), ("paused", "tenant")]


def test_a_batch_that_is_not_open_blocks_its_children(conn):
    before = enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(1), session="admin")
    assert claim_next(conn).id == before
    assert not is_open(conn, batch)
    assert reasons(conn, children_of(conn, batch)[0]) == [("blocked", "batch")]
    assert ("session_busy", "session") in reasons(conn, batch)


def test_a_parent_is_blocked_by_its_children(conn):
    batch = enqueue_batch(conn, children=of(2), session="admin")
    following = enqueue(conn, session="admin")
    claim_just(conn, 2)
    [row] = why(conn, batch)
    assert row.reason == "blocked"
    assert row.detail
    held = {(row.reason, row.gate, row.holder) for row in why(conn, following)}
    assert ("session_busy", "session", batch) in held


def test_a_run_that_has_stepped_aside_is_blocked(conn):
    enqueue(conn)
    run = claim_next(conn)
    enqueue(conn, parent=run.id)
    assert await_children(conn, run) is True
    assert [row.reason for row in why(conn, run.id)] == ["blocked"]


def test_a_follower_is_blocked_by_what_it_comes_after(conn):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first])
    claim_next(conn)
    [row] = why(conn, follower)
    assert row.reason == "blocked"
    assert str(first) in f"{row.holder} {row.detail}"


def test_what_is_next_waits_for_nothing(conn):
    batch = enqueue_batch(conn, children=of(2), slots=2)
    claim_awaited(conn)
    assert why(conn, children_of(conn, batch)[1]) == []
    complete(conn, claim_awaited(conn))
