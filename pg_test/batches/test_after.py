"""Jobs that come after others: they are blocked until these have completed, and discarded where one ends otherwise."""

import pytest

from support import rows
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, enqueue_batch, nothing_comes, of, pruned,
)  # fmt: skip
from support.calls import call, cancel, claim_next, complete, discard, enqueue, enqueue_many, fail, ids, release, retry
from support.losses import WAYS
from support.sleepers import Sleeper, asleep, put_to_sleep, until


def _dependencies(conn) -> int:
    return conn.execute("SELECT count(*)::int FROM turnstile.dependency").fetchone()[0]


def _many(conn, number: int, **keys) -> list[int]:
    return ids(enqueue_many(conn, [{"kind": "work", **keys}] * number))


def _cancel(conn, run) -> None:
    release(conn, run)
    cancel(conn, run.id)


ENDS = {"completed": complete, "discarded": discard, "cancelled": _cancel}


# ---- Chains, fans, graphs -------------------------------------------------------------------------


def test_a_batch_that_comes_after_a_job_is_told_of_no_child_while_others_live(conn):
    first = enqueue(conn)
    batch = enqueue_batch(conn, children=of(2), after=[first])
    lost, _ = children_of(conn, batch)
    assert call(conn, "discard", job_id=lost)[0][0] == "discarded"
    complete(conn, claim_just(conn, 1)[0])
    child = claim_awaited(conn)
    assert conn.execute("SELECT state, children FROM turnstile.job WHERE id = %s", [batch]).fetchone() == ("blocked", None)
    complete(conn, child)
    assert callback_of(conn, batch).children == ended(completed=1, discarded=1)


def test_a_chain_runs_link_by_link(conn):
    chain = [enqueue(conn)]
    for _ in range(4):
        chain.append(enqueue(conn, after=[chain[-1]]))
    assert rows.counts(conn) == {"available": 1, "blocked": 4}
    for link in chain:
        [run] = claim_just(conn, 1)
        assert (run.id, run.attempt) == (link, 1)
        assert rows.live(conn, link).has_followers is (True if link != chain[-1] else None)
        complete(conn, run)
    assert rows.counts(conn) == {"completed": 5}
    assert _dependencies(conn) == 0


def test_a_job_comes_after_the_last_of_many(conn):
    before = _many(conn, 5)
    last = enqueue(conn, after=before)
    runs = claim_just(conn, 5)
    complete_all(conn, runs[:4])
    nothing_comes(conn)
    complete(conn, runs[4])
    assert ids(claim_just(conn, 1)) == [last]


def test_many_come_after_one(conn):
    first = enqueue(conn)
    followers = _many(conn, 5, after=[first])
    complete_all(conn, claim_just(conn, 1))
    assert sorted(ids(claim_just(conn, 5))) == followers


def test_a_diamond(conn):
    top = enqueue(conn)
    sides = [enqueue(conn, after=[top]) for _ in range(2)]
    bottom = enqueue(conn, after=sides)
    complete_all(conn, claim_just(conn, 1))
    runs = claim_just(conn, 2)
    assert ids(runs) == sides
    complete(conn, runs[1])
    nothing_comes(conn)
    complete(conn, runs[0])
    assert ids(claim_just(conn, 1)) == [bottom]


def test_the_same_job_named_twice_is_named_once(conn):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first, first])
    complete_all(conn, claim_just(conn, 1))
    assert ids(claim_just(conn, 1)) == [follower]


def test_nothing_to_come_after_is_an_ordinary_job(conn):
    assert rows.live(conn, enqueue(conn, after=[])).state == "available"
    assert rows.live(conn, enqueue_many(conn, [{"kind": "work", "after": []}])[0].id).state == "available"


def test_a_failure_that_is_retried_is_no_end(conn):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first])
    fail(conn, claim_next(conn), retry_in="1 hour")
    nothing_comes(conn)
    retry(conn, first)
    complete(conn, claim_awaited(conn))
    assert ids(claim_just(conn, 1)) == [follower]


def test_a_follower_keeps_its_time_and_its_gates(conn):
    first = enqueue(conn)
    later = enqueue(conn, after=[first], run_at="2100-01-01")
    held = enqueue(conn, after=[first], session="s")
    before = enqueue(conn, session="s")
    runs = claim_just(conn, 2)
    assert ids(runs) == [first, before]
    complete(conn, runs[0])
    ends_as(conn, later, "scheduled")
    nothing_comes(conn)
    complete(conn, runs[1])
    assert ids(claim_just(conn, 1)) == [held]


def test_a_blocked_follower_holds_nobody_of_its_session_up(conn):
    first = enqueue(conn, queue="mail")
    follower = enqueue(conn, after=[first], session="s")
    behind = enqueue(conn, session="s")
    [run] = claim_just(conn, 1)
    assert run.id == behind
    complete(conn, run)
    complete(conn, claim_next(conn, "mail"))
    assert ids(claim_just(conn, 1)) == [follower]


def test_a_released_follower_wakes_who_sleeps(db, conn):
    enqueue(conn)
    run = claim_next(conn)
    follower = enqueue(conn, after=[run.id])
    assert claim_next(conn) is None, "it tells the predecessor, so that the next one sleeps"
    [sleeper] = put_to_sleep(db, conn, 1, "SELECT id FROM turnstile.claim_next(wait => '60 s')")
    complete(conn, run)
    assert sleeper.returned().error is None
    assert sleeper.rows == [(follower,)] or ids(claim_just(conn, 1)) == [follower]


def test_a_claim_that_waits_keeps_no_predecessor_from_ending(db, conn):
    """It may tell that job of its followers before it sleeps, or return without a row."""
    enqueue(conn)
    run = claim_next(conn)
    follower = enqueue(conn, after=[run.id])
    sleeper = Sleeper(db.connect(), "SELECT id FROM turnstile.claim_next(wait => '60 s')")
    until(lambda: not sleeper.is_alive() or asleep(conn) == 1, "it sleeps or has returned")
    conn.execute("SET lock_timeout = '10 s'")
    assert complete(conn, run) is True
    assert sleeper.returned().error is None
    assert sleeper.rows == [(follower,)] or ids(claim_just(conn, 1)) == [follower]


# ---- Predecessors that have ended -----------------------------------------------------------------


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])
def test_what_has_completed_is_not_waited_for(conn, by):
    done, live = enqueue(conn), enqueue(conn)
    complete(conn, claim_next(conn))
    if by == "enqueue":
        free, follower = enqueue(conn, after=[done]), enqueue(conn, after=[done, live])
    else:
        free, follower = ids(enqueue_many(conn, [{"kind": "a", "after": [done]}, {"kind": "a", "after": [done, live]}]))
    runs = claim_just(conn, 2)
    assert ids(runs) == [live, free]
    complete(conn, runs[0])
    assert ids(claim_just(conn, 1)) == [follower]


@pytest.mark.parametrize("state", ["discarded", "cancelled"])
def test_after_what_has_ended_otherwise_a_job_is_discarded(conn, state):
    first = enqueue(conn)
    ENDS[state](conn, claim_next(conn))
    follower = enqueue(conn, after=[first])
    ends_as(conn, follower, "discarded")
    assert str(first) in str(rows.finished(conn, follower).errors)


@pytest.mark.parametrize("state", ENDS)
def test_any_end_will_do_where_that_is_said(conn, state):
    first, second = enqueue(conn), enqueue(conn)
    follower = enqueue(conn, after=[first, second], after_any_end=True)
    ENDS[state](conn, claim_next(conn))
    later = enqueue(conn, after=[first], after_any_end=True)
    runs = claim_just(conn, 2)
    assert ids(runs) == [second, later]
    ENDS[state](conn, runs[0])
    assert ids(claim_just(conn, 1)) == [follower]


@pytest.mark.parametrize("state", ["discarded", "cancelled"])
def test_an_end_that_will_not_do_discards_all_that_comes_after(conn, state):
    chain = [enqueue(conn)]
    for _ in range(4):
        chain.append(enqueue(conn, after=[chain[-1]]))
    unhurt = enqueue(conn, after=[chain[2]], after_any_end=True)
    ENDS[state](conn, claim_next(conn))
    for before, follower in zip(chain, chain[1:], strict=False):
        ends_as(conn, follower, "discarded")
        row = rows.finished(conn, follower)
        [entry] = row.errors
        assert str(before) in entry["error"], "the reason names what it came after"
        assert row.attempt == 0
    assert ids(claim_just(conn, 1)) == [unhurt]
    assert _dependencies(conn) == 0


def test_one_bad_end_of_many_is_enough(conn):
    before = _many(conn, 3)
    follower = enqueue(conn, after=before)
    runs = claim_just(conn, 3)
    discard(conn, runs[1])
    ends_as(conn, follower, "discarded")
    complete_all(conn, [runs[0], runs[2]])
    nothing_comes(conn)


@pytest.mark.parametrize("state", ["discarded", "cancelled"])
def test_a_follower_that_is_to_hold_waits_until_it_completes_after_all(conn, state):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first], after_hold=True)
    behind = enqueue(conn, after=[follower])
    ENDS[state](conn, claim_next(conn))
    nothing_comes(conn)
    assert [rows.state(conn, job) for job in (follower, behind)] == ["blocked", "blocked"]
    retry(conn, first)
    complete(conn, claim_awaited(conn))
    complete_all(conn, claim_just(conn, 1))
    assert ids(claim_just(conn, 1)) == [behind]


def test_who_holds_can_be_given_up(conn):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first], after_hold=True)
    discard(conn, claim_next(conn))
    assert cancel(conn, follower) == "cancelled"
    nothing_comes(conn)
    pruned(conn)
    assert _dependencies(conn) == 0


@pytest.mark.parametrize("stop", [cancel, lambda conn, job: call(conn, "discard", job_id=job)], ids=["cancel", "discard"])
def test_a_blocked_follower_can_be_stopped(conn, stop):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first])
    behind = enqueue(conn, after=[follower])
    stop(conn, follower)
    ends_as(conn, behind, "discarded")
    complete_all(conn, claim_just(conn, 1))
    nothing_comes(conn)


def test_a_discarded_follower_can_be_retried(conn):
    first = enqueue(conn)
    follower = enqueue(conn, after=[first])
    discard(conn, claim_next(conn))
    ends_as(conn, follower, "discarded")
    retry(conn, first)
    complete(conn, claim_awaited(conn))
    retry(conn, follower)
    assert ids(claim_just(conn, 1)) == [follower]


# ---- With batches ---------------------------------------------------------------------------------


def test_a_batch_comes_after_a_job_and_a_job_after_a_batch(conn):
    first = enqueue(conn)
    batch = enqueue_batch(conn, children=of(2), after=[first])
    last = enqueue(conn, after=[batch])
    [run] = claim_just(conn, 1)
    assert run.id == first
    assert rows.state(conn, batch) == "blocked"
    complete(conn, run)
    runs = claim_just(conn, 2)
    assert ids(runs) == children_of(conn, batch)
    complete_all(conn, runs)
    run = callback_of(conn, batch)
    assert run.children == ended(completed=2)
    complete(conn, run)
    assert ids(claim_just(conn, 1)) == [last]


def test_a_batch_in_a_session_comes_after_a_job(conn):
    first = enqueue(conn)
    batch = enqueue_batch(conn, children=of(1), after=[first], session="admin")
    before = enqueue(conn, session="admin")
    runs = claim_just(conn, 2)
    assert ids(runs) == [first, before]
    complete(conn, runs[0])
    nothing_comes(conn)
    complete(conn, runs[1])
    complete_all(conn, claim_just(conn, 1))
    callback_of(conn, batch)


def test_a_batch_after_what_was_discarded_is_discarded_with_its_children(conn):
    first = enqueue(conn)
    batch = enqueue_batch(conn, children=of(3), after=[first])
    discard(conn, claim_next(conn))
    ends_as(conn, batch, "discarded")
    assert children_of(conn, batch) == []
    nothing_comes(conn)
    assert str(first) in str(rows.finished(conn, batch).errors)


def test_children_come_after_each_other(conn):
    batch = enqueue_batch(conn, children=[{"kind": "b", "ref": "b", "after_refs": ["a"]}, {"kind": "a", "ref": "a"}])
    for kind in ("a", "b"):
        [run] = claim_just(conn, 1)
        assert run.kind == kind
        complete(conn, run)
    assert callback_of(conn, batch).children == ended(completed=2)


def test_a_child_that_is_discarded_as_a_follower_is_a_discarded_child(conn):
    enqueue_batch(conn, children=[{"kind": "a", "ref": "a"}, {"kind": "b", "after_refs": ["a"]}])
    discard(conn, claim_awaited(conn))
    assert claim_awaited(conn).children == ended(discarded=2)


# ---- Transactions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_a_follower_that_is_lost_leaves_nothing(db, conn, lose):
    enqueue(conn)
    run = claim_next(conn)
    before = rows.everything(conn)
    loser = db.connect()
    loser.execute("BEGIN; SAVEPOINT s")
    enqueue(loser, after=[run.id])
    lose(loser, conn)
    assert rows.everything(conn) == before
    assert _dependencies(conn) == 0
    complete(conn, run)
    nothing_comes(conn)


@pytest.mark.parametrize("lose", WAYS.values(), ids=WAYS.keys())
def test_an_end_that_is_lost_releases_nobody(db, conn, lose):
    enqueue(conn)
    run = claim_next(conn)
    follower = enqueue(conn, after=[run.id])
    loser = db.connect()
    loser.execute("BEGIN; SAVEPOINT s")
    complete(loser, run)
    nothing_comes(conn)
    lose(loser, conn)
    nothing_comes(conn)
    complete(conn, run)
    assert ids(claim_just(conn, 1)) == [follower]


@pytest.mark.parametrize("end", ["completed", "discarded"])
def test_a_predecessor_ends_while_its_follower_is_being_added(conn, other, end):
    enqueue(conn)
    run = claim_next(conn)
    other.execute("BEGIN")
    follower = enqueue(other, after=[run.id])
    ENDS[end](conn, run)
    nothing_comes(conn)
    other.execute("COMMIT")
    if end == "completed":
        assert ids(claim_just(conn, 1)) == [follower]
    else:
        ends_as(conn, follower, "discarded")
    assert _dependencies(conn) == 0


def test_in_one_transaction_a_job_ends_and_is_come_after(conn):
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN")
    complete(conn, run)
    follower = enqueue(conn, after=[run.id])
    conn.execute("COMMIT")
    assert ids(claim_just(conn, 1)) == [follower]


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_two_predecessors_end_at_the_same_time(db, conn, end):
    before = _many(conn, 2)
    follower = enqueue(conn, after=before)
    runs = claim_just(conn, 2)
    finishers = [db.connect(), db.connect()]
    for finisher, run in zip(finishers, runs, strict=True):
        finisher.execute("BEGIN")
        complete(finisher, run)
    finishers[0].execute("COMMIT")
    nothing_comes(conn)
    finishers[1].execute(end)
    if end == "ROLLBACK":
        nothing_comes(conn)
        complete(conn, runs[1])
    assert ids(claim_just(conn, 1)) == [follower]
