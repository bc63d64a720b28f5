"""What is brought back: a child under a live parent, and a parent with what has failed of its children."""

import pytest

from support import rows
from support.batches import (
    awaited, callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, enqueue_batch, nothing_comes, of,
)  # fmt: skip
from support.calls import call, cancel, complete, discard, enqueue, ids, release, retry
from support.errors import WRONG_STATE, refused

LIVE = "SELECT count(*)::int FROM turnstile.job WHERE parent = %s"


def test_a_child_under_a_live_parent_comes_back_and_is_waited_for(conn):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    discard(conn, first)
    assert retry(conn, first.id) == "available"
    complete(conn, second)
    again = claim_awaited(conn)
    assert (again.id, again.attempt, rows.live(conn, again.id).parent) == (first.id, 2, batch)
    nothing_comes(conn)
    complete(conn, again)
    assert callback_of(conn, batch).children == ended(completed=2)


def test_a_child_is_counted_by_its_last_end(conn):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    complete(conn, first)
    retry(conn, first.id)
    discard(conn, claim_awaited(conn))
    retry(conn, first.id)
    discard(conn, claim_awaited(conn))
    complete(conn, second)
    assert callback_of(conn, batch).children == ended(1, 1)


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_a_retry_that_was_rolled_back_never_was(conn, undo):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    discard(conn, first)
    conn.execute("BEGIN; SAVEPOINT s")
    retry(conn, first.id)
    conn.execute(undo)
    complete(conn, second)
    assert callback_of(conn, batch).children == ended(1, 1)


@pytest.mark.parametrize("end", [complete, discard])
def test_a_child_of_an_ended_parent_stays_ended(conn, end):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    discard(conn, run)
    end(conn, callback_of(conn, batch))
    before = rows.everything(conn)
    with refused(WRONG_STATE) as caught:
        retry(conn, run.id)
    assert "parent" in caught.value.diag.message_hint
    assert rows.everything(conn) == before


def test_retry_many_passes_over_children_of_ended_parents(conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    discard(conn, run)
    complete(conn, callback_of(conn, batch))
    assert call(conn, "retry_many", kind="child")[0][0] == 0
    nothing_comes(conn)


def test_a_parent_comes_back_with_the_children_that_have_failed(conn):
    batch = enqueue_batch(conn, children=of(4), on_end="run_if_all_completed", session="admin")
    runs = claim_just(conn, 4)
    complete_all(conn, runs[:2])
    discard(conn, runs[2])
    release(conn, runs[3])
    cancel(conn, runs[3].id)
    ends_as(conn, batch, "discarded")
    retry(conn, batch)
    again = [claim_awaited(conn), claim_awaited(conn)]
    nothing_comes(conn)
    assert sorted(ids(again)) == sorted(ids(runs[2:]))
    assert rows.live(conn, batch).state == "blocked"
    following = enqueue(conn, session="admin")
    nothing_comes(conn)
    complete_all(conn, again)
    run = callback_of(conn, batch)
    assert run.children == ended(completed=4)
    complete(conn, run)
    assert claim_awaited(conn).id == following


def test_a_parent_whose_callback_ran_comes_back_with_them_too(conn):
    batch = enqueue_batch(conn, children=of(3))
    runs = claim_just(conn, 3)
    complete_all(conn, runs[:2])
    discard(conn, runs[2])
    complete(conn, callback_of(conn, batch))
    retry(conn, batch)
    assert rows.live(conn, batch).state == "blocked"
    again = claim_awaited(conn)
    assert (again.id, again.attempt) == (runs[2].id, 2)
    nothing_comes(conn)
    complete(conn, again)
    assert callback_of(conn, batch, attempt=2).children == ended(completed=3)


def test_a_parent_without_failed_children_runs_its_callback_again(conn):
    batch = enqueue_batch(conn, children=of(2))
    complete_all(conn, claim_just(conn, 2))
    complete(conn, callback_of(conn, batch))
    assert retry(conn, batch) == "available"
    run = callback_of(conn, batch, attempt=2)
    assert run.children == ended(completed=2)
    complete(conn, run)


def test_a_cancelled_parent_comes_back_whole(conn):
    batch = enqueue_batch(conn, children=of(5), slots=2)
    complete(conn, claim_awaited(conn))
    cancel(conn, batch)
    ends_as(conn, batch, "cancelled")
    retry(conn, batch)
    for _ in range(4):
        complete(conn, claim_awaited(conn))
    assert callback_of(conn, batch).children == ended(completed=5)


def test_a_parent_that_failed_by_max_failed_comes_back(conn):
    batch = enqueue_batch(conn, children=of(6), max_failed=0, on_end="run_if_all_completed")
    discard(conn, claim_awaited(conn))
    ends_as(conn, batch, "discarded")
    retry(conn, batch)
    awaited(conn, LIVE, 6, batch)
    for _ in range(6):
        complete(conn, claim_awaited(conn))
    assert callback_of(conn, batch).children == ended(completed=6)


def test_thousands_come_back_with_their_parent(conn):
    batch = enqueue_batch(conn, children=of(3_000))
    cancel(conn, batch)
    ends_as(conn, batch, "cancelled")
    retry(conn, batch)
    awaited(conn, LIVE, 3_000, batch)
    assert len(children_of(conn, batch)) == 3_000
    run = claim_awaited(conn)
    assert rows.live(conn, run.id).parent == batch


def test_retry_of_a_blocked_parent_changes_nothing(conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    with refused(WRONG_STATE):
        retry(conn, batch)
    complete(conn, run)
    callback_of(conn, batch)


@pytest.mark.parametrize("session", [None, "admin"])
@pytest.mark.parametrize("on_end", ["run", "run_if_all_completed", "complete"])
def test_a_batch_that_was_cancelled_before_it_was_told_is_told_when_it_comes_back(conn, on_end, session):
    batch = enqueue_batch(conn, children=of(2), on_end=on_end, session=session)
    runs = claim_just(conn, 2)
    conn.execute("BEGIN")
    complete_all(conn, runs)
    cancel(conn, batch)
    conn.execute("COMMIT")
    assert rows.state(conn, batch) == "cancelled"
    call(conn, "retry", job_id=batch)
    if on_end != "complete":
        run = callback_of(conn, batch)
        assert run.children == ended(completed=2)
        complete(conn, run)
    nothing_comes(conn)
    awaited(conn, "SELECT count(*)::int FROM turnstile.job", 0)
    last = "SELECT state, children FROM turnstile.job_history WHERE id = %s ORDER BY finished_at DESC LIMIT 1"
    assert conn.execute(last, [batch]).fetchone() == ("completed", ended(completed=2))
