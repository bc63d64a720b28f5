"""Children added while the last one is ending: each either counts or is refused with 55000, and the callback comes once."""

import time

import psycopg
import pytest

from support import rows
from support.attempt import Attempt
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_of, enqueue_batch, nothing_comes, of,
)  # fmt: skip
from support.calls import cancel, claim_next, complete, discard, enqueue, fail, release, retry
from support.crew import together
from support.errors import WRONG_STATE, refused

UNDONE = ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"]
LAST = {"complete": (complete, ended(completed=1)), "discard": (discard, ended(discarded=1))}


@pytest.fixture
def last(conn):
    """A batch with one child, which runs."""
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    return batch, run


# ---- The adder was first --------------------------------------------------------------------------


@pytest.mark.parametrize("end", LAST)
def test_a_child_added_before_its_last_brother_ends_counts(conn, other, last, end):
    batch, run = last
    other.execute("BEGIN")
    added = enqueue(other, parent=batch)
    LAST[end][0](conn, run)
    nothing_comes(conn)
    other.execute("COMMIT")
    [own] = claim_just(conn, 1)
    assert own.id == added
    complete(conn, own)
    counts = callback_of(conn, batch).children
    assert counts == ended(2) if end == "complete" else counts == ended(1, 1)


@pytest.mark.parametrize("undo", UNDONE)
def test_a_child_that_is_taken_back_holds_the_callback_no_longer(conn, other, last, undo):
    batch, run = last
    other.execute("BEGIN; SAVEPOINT s")
    enqueue(other, parent=batch)
    complete(conn, run)
    nothing_comes(conn)
    other.execute(undo)
    assert callback_of(conn, batch).children == ended(completed=1)


def test_a_lost_connection_takes_its_child_back(db, conn, last):
    batch, run = last
    adder = db.connect()
    adder.execute("BEGIN")
    enqueue(adder, parent=batch)
    complete(conn, run)
    nothing_comes(conn)
    adder.close()
    assert callback_of(conn, batch).children == ended(completed=1)


def test_many_adders_at_once_wait_for_nobody(db, conn, last):
    """They do not lock each other out of the parent."""
    batch, run = last
    adders = [db.connect() for _ in range(5)]
    for adder in adders:
        adder.execute("SET lock_timeout = '5 s'; BEGIN")
        enqueue(adder, parent=batch)
    complete(conn, run)
    for adder in adders[:3]:
        adder.execute("COMMIT")
    added = claim_just(conn, 3)
    complete_all(conn, added)
    nothing_comes(conn)
    for adder in adders[3:]:
        adder.execute("ROLLBACK")
    assert callback_of(conn, batch).children == ended(completed=4)


# ---- The finisher was first -----------------------------------------------------------------------


@pytest.mark.parametrize("end", ["COMMIT", *UNDONE])
def test_a_child_added_while_its_last_brother_is_ending_counts_or_is_refused(db, conn, other, last, end):
    batch, run = last
    other.execute("BEGIN; SAVEPOINT s")
    complete(other, run)
    adder = db.connect()
    attempt = Attempt(lambda: enqueue(adder, parent=batch))
    attempt.given_time(conn, adder.info.backend_pid)
    other.execute(end)
    attempt.decided()
    expected = ended(completed=1 if attempt.error else 2)
    if end != "COMMIT":
        assert attempt.error is None, "the last one has not ended"
        complete(conn, run)
    if attempt.made:
        [own] = claim_just(conn, 1)
        assert own.id == attempt.made
        complete(conn, own)
    assert callback_of(conn, batch).children == expected


def test_in_one_transaction_the_last_child_ends_and_another_is_added(conn, last):
    batch, run = last
    conn.execute("BEGIN")
    complete(conn, run)
    enqueue(conn, parent=batch)
    conn.execute("COMMIT")
    complete_all(conn, claim_just(conn, 1))
    assert callback_of(conn, batch).children == ended(completed=2)


def test_two_last_children_end_at_the_same_time(db, conn):
    """Neither sees the other's end, and yet the parent is done."""
    batch = enqueue_batch(conn, children=of(2))
    runs = claim_just(conn, 2)
    finishers = [db.connect(), db.connect()]
    for finisher, run in zip(finishers, runs, strict=True):
        finisher.execute("BEGIN")
        complete(finisher, run)
    nothing_comes(conn)
    finishers[0].execute("COMMIT")
    nothing_comes(conn)
    finishers[1].execute("COMMIT")
    assert callback_of(conn, batch).children == ended(completed=2)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_finisher_with_an_old_snapshot_ends_the_batch(db, conn, level):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    finisher = db.connect()
    finisher.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM turnstile.job")
    complete(conn, first)
    complete(finisher, second)
    finisher.execute("COMMIT")
    assert callback_of(conn, batch).children == ended(completed=2)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_adder_with_an_old_snapshot_loses_no_child(db, conn, last, level):
    """To it the batch looks alive; it may be refused, also for its snapshot, but what it adds is run."""
    batch, run = last
    adder = db.connect()
    adder.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM turnstile.job")
    complete(conn, run)
    callback = callback_of(conn, batch)
    complete(conn, callback)
    with pytest.raises(psycopg.Error) as caught:
        enqueue(adder, parent=batch)
    assert caught.value.sqlstate in (WRONG_STATE, "40001")
    adder.execute("ROLLBACK")
    assert children_of(conn, batch) == []


# ---- Again and again ------------------------------------------------------------------------------

ENDS = [complete, discard, lambda conn, run: fail(conn, run, discard=True), lambda conn, run: (release(conn, run), cancel(conn, run.id))]


@pytest.mark.parametrize("end", ENDS, ids=["complete", "discard", "fail", "cancel"])
def test_adding_and_ending_at_the_same_moment_loses_no_child(db, conn, end):
    finisher, adders = db.connect(), [db.connect(), db.connect()]
    kept = 0
    for _ in range(30):
        batch = enqueue_batch(conn, children=of(1))
        run = claim_awaited(conn)
        attempts = [lambda adder=adder: _add_or_be_refused(adder, batch) for adder in adders]
        added = [made for made in together([lambda: end(finisher, run), *attempts])[1:] if made]
        kept += len(added)
        while (job := claim_awaited(conn)).id != batch:
            assert job.id in added
            complete(conn, job)
            added.remove(job.id)
        assert added == [], "the callback came before the last child"
        complete(conn, job)
        assert ends_of(conn, batch) == [("completed", 1)]
        assert sum(rows.finished(conn, batch).children.values()) == len(ended_children(conn, batch))
    assert claim_next(conn) is None
    print(f"{kept} of 60 counted")


def _add_or_be_refused(conn, batch: int) -> int | None:
    try:
        return enqueue(conn, parent=batch)
    except psycopg.Error as error:
        assert error.sqlstate == WRONG_STATE, error
        return None


def ended_children(conn, batch: int) -> list:
    return conn.execute("SELECT id FROM turnstile.job_history WHERE parent = %s", [batch]).fetchall()


def test_many_finishers_at_once_make_one_callback_run(db, conn):
    connections = [db.connect() for _ in range(8)]
    for _ in range(15):
        batch = enqueue_batch(conn, children=of(8))
        runs = [claim_awaited(conn) for _ in range(8)]
        together([lambda c=c, r=r: complete(c, r) for c, r in zip(connections, runs, strict=True)])
        claimed = _all_who_ask_get_one(connections)
        assert [job.id for job in claimed] == [batch]
        assert claimed[0].children == ended(completed=8)
        complete(conn, claimed[0])
        assert ends_of(conn, batch) == [("completed", 1)]


def _all_who_ask_get_one(connections) -> list:
    give_up, claimed = time.monotonic() + 60, []
    while not claimed:
        assert time.monotonic() < give_up, "no callback comes"
        claimed = [job for job in together([lambda c=c: claim_next(c) for c in connections]) if job]
    return claimed + [job for job in together([lambda c=c: claim_next(c) for c in connections]) if job]


def test_a_child_retried_while_the_last_one_is_ending(conn, other):
    batch = enqueue_batch(conn, children=of(2))
    first, second = claim_just(conn, 2)
    discard(conn, first)
    other.execute("BEGIN")
    assert retry(other, first.id) == "available"
    complete(conn, second)
    nothing_comes(conn)
    other.execute("COMMIT")
    [again] = claim_just(conn, 1)
    assert (again.id, again.attempt) == (first.id, 2)
    complete(conn, again)
    callback_of(conn, batch)
    with refused(WRONG_STATE):
        enqueue(conn, parent=first.id)
