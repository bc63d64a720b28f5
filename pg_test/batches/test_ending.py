"""A batch that is stopped: by too many failures, cancel or discard. Nothing more starts, and the end comes once."""

import pytest

from support import rows
from support.batches import (
    awaited, callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, ends_of, enqueue_batch,
    nothing_comes, of, pruned, set_batch,
)  # fmt: skip
from support.calls import call, cancel, complete, discard, enqueue, fail, ids, release
from support.losses import WAYS

LIVE = "SELECT count(*)::int FROM turnstile.job WHERE parent = %s"


def _discard(conn, parent: int) -> None:
    call(conn, "discard", job_id=parent)


STOPS = {"cancelled": cancel, "discarded": _discard}
each_stop = pytest.mark.parametrize("state", STOPS)


def _ends(conn, parent: int) -> dict:
    return dict(conn.execute(
        "SELECT state::text, count(*)::int FROM turnstile.job_history WHERE parent = %s GROUP BY 1", [parent]
    ).fetchall())  # fmt: skip


# ---- max_failed -----------------------------------------------------------------------------------


def test_as_many_failures_as_max_failed_are_tolerated(conn):
    batch = enqueue_batch(conn, children=of(4), max_failed=2)
    runs = claim_just(conn, 4)
    for run in runs[:2]:
        discard(conn, run)
    complete_all(conn, runs[2:])
    assert callback_of(conn, batch).children == ended(2, 2)


@pytest.mark.parametrize("max_failed", [0, 2])
def test_one_failure_more_stops_the_batch(conn, max_failed):
    batch = enqueue_batch(conn, children=of(20), max_failed=max_failed, slots=max_failed + 1)
    for run in claim_just(conn, max_failed + 1):
        discard(conn, run)
    counts = callback_of(conn, batch).children
    assert counts == ended(discarded=max_failed + 1, cancelled=19 - max_failed)


def test_of_thousands_none_starts_after_one_failure_more(conn):
    """Neither by the claim that sees it first."""
    batch = enqueue_batch(conn, children=of(2_000), max_failed=0)
    discard(conn, claim_awaited(conn))
    run = callback_of(conn, batch)
    assert run.children == ended(discarded=1, cancelled=1_999)


@pytest.mark.parametrize("on_end", ["run_if_all_completed", "complete"])
def test_without_a_callback_for_failures_the_stopped_batch_is_discarded(conn, on_end):
    batch = enqueue_batch(conn, children=of(5), max_failed=0, on_end=on_end, session="admin")
    following = enqueue(conn, session="admin")
    discard(conn, claim_awaited(conn))
    ends_as(conn, batch, "discarded")
    assert ids(claim_just(conn, 1)) == [following]
    assert ends_of(conn, batch) == [("discarded", 0)]
    assert _ends(conn, batch) == {"discarded": 1, "cancelled": 4}


def test_runs_of_a_batch_that_has_failed_are_asked_to_stop_and_waited_for(conn):
    batch = enqueue_batch(conn, children=of(10), max_failed=0, slots=3)
    first, second, third = claim_just(conn, 3)
    discard(conn, first)
    awaited(conn, LIVE, 2, batch)
    nothing_comes(conn)
    for run in (second, third):
        assert call(conn, "heartbeat", job_id=run.id, attempt=run.attempt)[0][0] is False
    complete(conn, second)
    release(conn, third)
    assert callback_of(conn, batch).children == ended(1, 1, 8)


def test_a_failure_that_is_retried_is_none(conn):
    batch = enqueue_batch(conn, children=of(2), max_failed=0)
    first, second = claim_just(conn, 2)
    assert fail(conn, first, retry_in="0 seconds") == "retryable"
    again = claim_awaited(conn)
    complete_all(conn, [again, second])
    assert callback_of(conn, batch).children == ended(completed=2)


def test_max_failed_can_be_raised_and_cleared_while_it_runs(conn):
    batch = enqueue_batch(conn, children=of(5), max_failed=0)
    set_batch(conn, batch, max_failed=1)
    runs = claim_just(conn, 5)
    discard(conn, runs[0])
    set_batch(conn, batch, clear=["max_failed"])
    for run in runs[1:4]:
        discard(conn, run)
    complete(conn, runs[4])
    assert callback_of(conn, batch).children == ended(1, 4)


def test_max_failed_can_be_lowered_while_it_runs(conn):
    batch = enqueue_batch(conn, children=of(5), slots=2)
    first, second = claim_just(conn, 2)
    discard(conn, first)
    set_batch(conn, batch, max_failed=0, slots=0)
    discard(conn, second)
    assert callback_of(conn, batch).children == ended(discarded=2, cancelled=3)


# ---- Cancel and discard ---------------------------------------------------------------------------


@each_stop
def test_waiting_children_go_and_the_parent_ends_without_a_run(conn, state):
    batch = enqueue_batch(conn, children=of(3), session="admin")
    following = enqueue(conn, session="admin")
    run = claim_awaited(conn)
    release(conn, run)
    STOPS[state](conn, batch)
    assert claim_awaited(conn).id == following
    assert ends_of(conn, batch) == [(state, 0)]
    assert children_of(conn, batch) == []
    assert rows.counts(conn).get("completed") is None


@each_stop
def test_a_stopped_batch_starts_nothing_more_and_waits_for_its_runs(conn, state):
    batch = enqueue_batch(conn, children=of(10), slots=2, session="admin")
    following = enqueue(conn, session="admin")
    first, second = claim_just(conn, 2)
    STOPS[state](conn, batch)
    nothing_comes(conn)
    for run in (first, second):
        assert call(conn, "heartbeat", job_id=run.id, attempt=run.attempt)[0][0] is False
    complete(conn, first)
    nothing_comes(conn)
    assert rows.state(conn, batch) == "blocked"
    fail(conn, second, retry_in="0 seconds")
    ends_as(conn, batch, state)
    assert claim_awaited(conn).id == following
    assert children_of(conn, batch) == []


@each_stop
def test_thousands_of_children_go_with_their_parent(conn, state):
    batch = enqueue_batch(conn, children=of(5_000))
    runs = [claim_awaited(conn) for _ in range(3)]
    STOPS[state](conn, batch)
    awaited(conn, LIVE, 3, batch)
    nothing_comes(conn)
    complete_all(conn, runs)
    ends_as(conn, batch, state)
    assert _ends(conn, batch)["completed"] == 3
    assert sum(_ends(conn, batch).values()) == 5_000


@each_stop
def test_a_batch_stopped_before_its_turn_never_starts(conn, state):
    before = enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(3), session="admin")
    following = enqueue(conn, session="admin")
    run = claim_awaited(conn)
    assert run.id == before
    STOPS[state](conn, batch)
    nothing_comes(conn)
    complete(conn, run)
    assert claim_awaited(conn).id == following
    ends_as(conn, batch, state)
    awaited(conn, LIVE, 0, batch)


@each_stop
def test_a_stop_reaches_children_of_children(conn, state):
    outer = enqueue_batch(conn, children=of(1))
    inner = enqueue_batch(conn, children=of(3), parent=outer)
    innermost = enqueue_batch(conn, children=of(3), parent=inner)
    STOPS[state](conn, outer)
    ends_as(conn, outer, state)
    nothing_comes(conn)
    for parent in (inner, innermost):
        assert [attempt for _, attempt in ends_of(conn, parent)] == [0]
        assert children_of(conn, parent) == []


@each_stop
def test_a_callback_that_waits_is_stopped_like_any_job(conn, state):
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    release(conn, callback_of(conn, batch))
    STOPS[state](conn, batch)
    ends_as(conn, batch, state)
    nothing_comes(conn)


def test_a_cancelled_inner_batch_is_a_cancelled_child(conn):
    outer = enqueue_batch(conn, children=of(1))
    inner = enqueue_batch(conn, children=of(2), parent=outer)
    cancel(conn, inner)
    ends_as(conn, inner, "cancelled")
    [run] = claim_just(conn, 1)
    complete(conn, run)
    assert callback_of(conn, outer).children == ended(1, 0, 1)


@each_stop
def test_a_stop_does_not_wait_for_who_changes_an_inner_batch(conn, other, state):
    outer = enqueue_batch(conn)
    plain = enqueue(conn, parent=outer)
    inner = enqueue_batch(conn, children=of(2), parent=outer)
    other.execute("BEGIN")
    set_batch(other, inner, slots=1)
    conn.execute("SET lock_timeout = '1s'")
    STOPS[state](conn, outer)
    ends_as(conn, plain, "cancelled")
    assert (rows.state(conn, outer), rows.state(conn, inner)) == ("blocked", "available")
    other.execute("COMMIT")
    ends_as(conn, outer, state)
    assert ends_of(conn, inner) == [("cancelled", 0)]


@each_stop
@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_a_stop_that_was_rolled_back_never_was(conn, state, undo):
    batch = enqueue_batch(conn, children=of(3), slots=1)
    run = claim_awaited(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    STOPS[state](conn, batch)
    conn.execute(undo)
    assert call(conn, "heartbeat", job_id=run.id, attempt=run.attempt)[0][0] is True
    complete(conn, run)
    for _ in range(2):
        complete_all(conn, claim_just(conn, 1))
    assert callback_of(conn, batch).children == ended(completed=3)


# ---- Lost transactions, deleted rows --------------------------------------------------------------


@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_a_last_end_that_is_lost_was_none(db, conn, lose):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    complete(conn, first)
    loser = db.connect()
    loser.execute("BEGIN; SAVEPOINT s")
    complete(loser, second)
    lose(loser, conn)
    nothing_comes(conn)
    complete(conn, second)
    complete(conn, callback_of(conn, batch))
    assert ends_of(conn, batch) == [("completed", 1)]


@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_a_claimed_callback_that_is_lost_comes_again(db, conn, lose):
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    loser = db.connect()
    loser.execute("BEGIN; SAVEPOINT s")
    callback_of(loser, batch)
    lose(loser, conn)
    run = callback_of(conn, batch)
    complete(conn, run)
    assert ends_of(conn, batch) == [("completed", 1)]
    nothing_comes(conn)


def test_deleted_children_no_longer_count(conn):
    batch = enqueue_batch(conn, children=of(3))
    made = children_of(conn, batch)
    complete(conn, claim_awaited(conn))
    conn.execute("DELETE FROM turnstile.job WHERE id = ANY(%s)", [made[1:]])
    assert callback_of(conn, batch).children == ended(completed=1)


def test_a_delete_of_the_last_child_that_was_rolled_back_never_was(conn, other):
    batch = enqueue_batch(conn, children=of(1))
    other.execute("BEGIN")
    other.execute("DELETE FROM turnstile.job WHERE parent = %s", [batch])
    nothing_comes(conn)
    other.execute("ROLLBACK")
    complete_all(conn, claim_just(conn, 1))
    callback_of(conn, batch)


def test_a_deleted_batch_leaves_nothing_behind(conn):
    batch = enqueue_batch(conn, children=of(3), slots=1, session="admin")
    following = enqueue(conn, session="admin")
    claim_awaited(conn)
    conn.execute("DELETE FROM turnstile.job WHERE id = %s OR parent = %s", [batch, batch])
    assert claim_awaited(conn).id == following
    pruned(conn)
    assert conn.execute("SELECT count(*) FROM turnstile.batch").fetchone() == (0,)


def test_a_truncate_forgets_all_batches(conn):
    enqueue_batch(conn, children=of(3), slots=1, session="admin")
    claim_awaited(conn)
    conn.execute("TRUNCATE turnstile.job")
    nothing_comes(conn)
    batch = enqueue_batch(conn, children=of(2), session="admin")
    complete_all(conn, claim_just(conn, 2))
    complete(conn, callback_of(conn, batch))


def test_settings_stay_as_long_as_their_batch_may_be_brought_back(conn):
    batch = enqueue_batch(conn, children=of(1), slots=1)
    complete_all(conn, claim_just(conn, 1))
    complete(conn, callback_of(conn, batch))
    pruned(conn)
    assert conn.execute("SELECT id, slots FROM turnstile.batch").fetchall() == [(batch, 1)]
    conn.execute("TRUNCATE turnstile.job_history")
    pruned(conn)
    assert conn.execute("SELECT count(*) FROM turnstile.batch").fetchone() == (0,)
