"""A batch: its parent is blocked while children live, and then runs as the callback, once."""

import pytest

from support import rows
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, ends_of, enqueue_batch, is_open,
    nothing_comes, of,
)  # fmt: skip
from support.calls import call, cancel, claim_next, complete, discard, enqueue, enqueue_many, fail, ids, release
from support.gates import TENANT
from support.settings import configure
from support.sleepers import put_to_sleep

CLAIM = "SELECT id FROM turnstile.claim_next(wait => '60 s')"


def test_a_batch_without_a_session_is_open_at_once(conn):
    batch = enqueue_batch(conn, children=of(3))
    row = rows.live(conn, batch)
    assert (row.state, row.attempt, row.opens_batch, row.children, row.parent) == ("blocked", 0, None, None, None)
    assert is_open(conn, batch)
    assert ids(claim_just(conn, 3)) == children_of(conn, batch)


def test_the_last_end_makes_the_parent_run_as_the_callback(conn):
    batch = enqueue_batch(conn, "gather", of(3), payload={"n": 7})
    first, second, third = claim_just(conn, 3)
    complete_all(conn, [second, first])
    nothing_comes(conn)
    assert rows.state(conn, batch) == "blocked"
    complete(conn, third)
    run = callback_of(conn, batch)
    assert (run.kind, run.payload, run.children) == ("gather", {"n": 7}, ended(completed=3))
    assert complete(conn, run) is True
    assert rows.counts(conn) == {"completed": 4}
    assert ends_of(conn, batch) == [("completed", 1)]
    assert rows.finished(conn, batch).children == ended(completed=3)


def test_the_callback_is_told_how_many_ended_how(conn):
    batch = enqueue_batch(conn, children=of(6))
    runs = claim_just(conn, 6)
    complete_all(conn, runs[:3])
    assert discard(conn, runs[3]) == "discarded"
    assert discard(conn, runs[4]) == "discarded"
    release(conn, runs[5])
    assert cancel(conn, runs[5].id) == "cancelled"
    assert callback_of(conn, batch).children == ended(3, 2, 1)


def test_other_jobs_tell_nothing_of_children(conn):
    enqueue(conn)
    assert claim_next(conn).children is None
    enqueue_batch(conn, children=of(1))
    assert claim_awaited(conn).children is None


def test_a_child_that_is_to_be_retried_is_alive(conn):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    complete(conn, first)
    assert fail(conn, second, retry_in="1 hour") == "retryable"
    nothing_comes(conn)
    call(conn, "retry", job_id=second.id)
    again = claim_awaited(conn)
    assert (again.id, again.attempt) == (second.id, 2)
    complete(conn, again)
    assert callback_of(conn, batch).children == ended(completed=2)


def test_a_callback_that_fails_is_retried_like_any_job(conn):
    batch = enqueue_batch(conn, children=of(1), max_attempts=2)
    complete_all(conn, claim_just(conn, 1))
    assert fail(conn, callback_of(conn, batch), retry_in="0 seconds") == "retryable"
    again = callback_of(conn, batch, attempt=2)
    assert again.children == ended(completed=1)
    assert fail(conn, again) == "discarded"
    assert ends_of(conn, batch) == [("discarded", 2)]


# ---- What children are ----------------------------------------------------------------------------


SHARED = {"queue": "mail", "tenant": "acme", "account": "sales", "priority": 3}
OWN = {"queue": "sms", "tenant": "globex", "account": "support", "priority": -2}


def _shown(row) -> dict:
    return {name: getattr(row, name) for name in SHARED}


def test_children_take_from_the_parent_what_they_do_not_name(conn):
    batch = enqueue_batch(
        conn, children=[{"kind": "plain"}, {"kind": "other", **OWN}], session="s", concurrency_key="c", unique_key="u", **SHARED
    )
    plain, other = (rows.live(conn, child) for child in children_of(conn, batch))
    assert _shown(plain) == SHARED
    assert _shown(other) == OWN
    assert {(row.session, row.concurrency_key, row.unique_key) for row in (plain, other)} == {(None, None, None)}
    parent = rows.live(conn, batch)
    assert (parent.session, parent.concurrency_key, parent.unique_key) == ("s", "c", "u")


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])
def test_children_added_later_take_the_same(conn, by):
    batch = enqueue_batch(conn, children=of(1), **SHARED)
    added = {"kind": "later", "parent": batch}
    child = enqueue(conn, **added) if by == "enqueue" else enqueue_many(conn, [added])[0].id
    row = rows.live(conn, child)
    assert _shown(row) == SHARED
    assert row.parent == batch


def test_children_with_a_session_of_their_own_run_one_by_one(conn):
    batch = enqueue_batch(conn, children=[*of(3, session="s"), *of(1)])
    begun = claim_just(conn, 2)
    free = next(run for run in begun if run.session is None)
    complete(conn, free)
    nothing_comes(conn)
    run = next(run for run in begun if run.session == "s")
    for _ in range(2):
        complete(conn, run)
        [run] = claim_just(conn, 1)
        assert run.session == "s"
    complete(conn, run)
    assert callback_of(conn, batch).children == ended(completed=4)


def test_of_children_with_the_same_unique_key_there_is_one(conn):
    batch = enqueue_batch(conn, children=of(3, unique_key="k"))
    [run] = claim_just(conn, 1)
    complete(conn, run)
    assert callback_of(conn, batch).children == ended(completed=1)


def test_the_parent_occupies_no_slot(conn):
    TENANT.limit(conn, 1)
    configure(conn, "queue", "default", max_running=1)
    configure(conn, "concurrency", "c", slots=1)
    batch = enqueue_batch(conn, children=of(2, concurrency_key="c"), tenant="acme", concurrency_key="c", session="s")
    for _ in range(2):
        complete_all(conn, claim_just(conn, 1))
    complete(conn, callback_of(conn, batch))


# ---- The end --------------------------------------------------------------------------------------


ENDS = {"completed": complete, "discarded": discard, "cancelled": lambda conn, run: (release(conn, run), cancel(conn, run.id))}


@pytest.mark.parametrize("last", ENDS)
@pytest.mark.parametrize("on_end", ["run", "run_if_all_completed", "complete"])
def test_on_end_says_what_becomes_of_the_parent(conn, on_end, last):
    batch = enqueue_batch(conn, children=of(2), on_end=on_end)
    first, second = claim_just(conn, 2)
    complete(conn, first)
    ENDS[last](conn, second)
    if on_end == "run" or on_end == "run_if_all_completed" and last == "completed":
        complete(conn, callback_of(conn, batch))
        assert ends_of(conn, batch) == [("completed", 1)]
    else:
        ends_as(conn, batch, "completed" if on_end == "complete" else "discarded")
        nothing_comes(conn)
        assert ends_of(conn, batch) == [("completed" if on_end == "complete" else "discarded", 0)]
    counts = {"completed": 1, "discarded": 0, "cancelled": 0}
    counts[last] += 1
    assert rows.finished(conn, batch).children == counts


@pytest.mark.parametrize("on_end", ["run", "run_if_all_completed", "complete"])
def test_a_batch_without_children_ends_at_once(conn, on_end):
    batch = enqueue_batch(conn, on_end=on_end)
    if on_end != "complete":
        run = callback_of(conn, batch)
        assert run.children == ended()
        complete(conn, run)
    ends_as(conn, batch, "completed")
    assert ends_of(conn, batch) == [("completed", 0 if on_end == "complete" else 1)]


def test_a_sleeping_claim_is_woken_for_the_callback(db, conn):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    [sleeper] = put_to_sleep(db, conn, 1, CLAIM)
    complete(conn, run)
    assert sleeper.returned().error is None
    assert sleeper.rows == [(batch,)] or callback_of(conn, batch)


def test_without_any_claim_the_background_worker_ends_the_batch(conn):
    batch = enqueue_batch(conn, children=of(1), on_end="complete")
    [run] = claim_just(conn, 1)
    complete(conn, run)
    conn.execute("CALL turnstile.wait_for_end(%s, '60 s')", [batch])
    assert rows.state(conn, batch) == "completed"


def test_batches_nest_five_deep(conn):
    parents = [enqueue_batch(conn, "level 0", of(1))]
    for level in range(1, 5):
        parents.append(enqueue_batch(conn, f"level {level}", of(1), parent=parents[-1]))
    leaves = claim_just(conn, 5)
    complete_all(conn, leaves[:3])
    nothing_comes(conn)
    complete(conn, leaves[4])
    run = callback_of(conn, parents[4])
    complete(conn, run)
    nothing_comes(conn)
    complete(conn, leaves[3])
    counts = [run.children]
    for parent in reversed(parents[:4]):
        run = callback_of(conn, parent)
        counts.append(run.children)
        complete(conn, run)
    assert counts == [ended(completed=1)] + [ended(completed=2)] * 4
    assert [ends_of(conn, parent) for parent in parents] == [[("completed", 1)]] * 5
    assert rows.counts(conn) == {"completed": 10}


# ---- One thing or nothing -------------------------------------------------------------------------


def test_a_batch_rolled_back_never_was(conn):
    conn.execute("BEGIN")
    enqueue_batch(conn, children=of(3), slots=1)
    conn.execute("ROLLBACK")
    nothing_comes(conn)
    assert rows.everything(conn) == []
    assert conn.execute("SELECT count(*) FROM turnstile.batch").fetchone() == (0,)


def test_a_batch_rolled_back_to_a_savepoint_never_was(conn):
    conn.execute("BEGIN")
    kept = enqueue_batch(conn, children=of(2))
    conn.execute("SAVEPOINT s")
    enqueue_batch(conn, children=of(3))
    enqueue(conn, parent=kept)
    conn.execute("ROLLBACK TO SAVEPOINT s; COMMIT")
    complete_all(conn, claim_just(conn, 2))
    assert callback_of(conn, kept).children == ended(completed=2)


def test_nothing_of_a_batch_starts_before_its_commit(conn, other):
    conn.execute("BEGIN")
    batch = enqueue_batch(conn, children=of(2))
    nothing_comes(other)
    conn.execute("COMMIT")
    assert ids(claim_just(other, 2)) == children_of(conn, batch)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_the_callback_waits_for_the_commit_of_the_last_end(conn, other, end):
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    conn.execute("BEGIN")
    complete(conn, run)
    nothing_comes(other)
    conn.execute(end)
    if end == "ROLLBACK":
        nothing_comes(other)
        complete(other, run)
    assert callback_of(other, batch).children == ended(completed=1)


@pytest.mark.parametrize("holder", ["a batch", "a job"])
def test_where_the_key_is_held_nothing_is_added(conn, holder):
    make = enqueue_batch if holder == "a batch" else enqueue
    given = {"children": of(1)} if holder == "a batch" else {}
    first = make(conn, unique_key="k", **given)
    before = rows.everything(conn)
    assert enqueue_batch(conn, children=of(3), unique_key="k") == first
    assert rows.everything(conn) == before


def test_a_batch_holds_its_key_until_it_has_ended(conn):
    first = enqueue_batch(conn, children=of(1), unique_key="k")
    complete_all(conn, claim_just(conn, 1))
    assert enqueue_batch(conn, children=of(1), unique_key="k") == first
    run = callback_of(conn, first)
    assert enqueue_batch(conn, children=of(1), unique_key="k") == first
    complete(conn, run)
    second = enqueue_batch(conn, children=of(1), unique_key="k")
    assert second != first
    assert len(children_of(conn, second)) == 1
