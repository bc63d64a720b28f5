"""A batch whose turn has not come: in its session, at its time, after other jobs. Its children do not start before."""

import pytest

from support import rows
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, ended, ends_as, enqueue_batch, is_open, nothing_comes,
    of,
)  # fmt: skip
from support.calls import call, claim_next, complete, enqueue, fail, ids
from support.sleepers import Sleeper, await_asleep


def test_the_next_job_of_the_session_starts_after_the_callback(conn):
    batch = enqueue_batch(conn, children=of(2), session="admin")
    following = enqueue(conn, session="admin")
    another = enqueue(conn, session="another", priority=9)
    runs = claim_just(conn, 3)
    assert {run.id for run in runs} == {*children_of(conn, batch), another}
    row = rows.live(conn, batch)
    assert (row.state, row.holds_session, row.attempt) == ("blocked", True, 0)
    complete_all(conn, runs)
    run = callback_of(conn, batch)
    assert (run.session, run.children) == ("admin", ended(completed=2))
    free = enqueue(conn, session="another")
    assert ids(claim_just(conn, 1)) == [free], "others go on"
    complete(conn, run)
    assert ids(claim_just(conn, 1)) == [following]


@pytest.mark.parametrize("on_end", ["complete", "run_if_all_completed"])
def test_a_parent_that_ends_without_a_run_lets_its_session_go_on(conn, on_end):
    enqueue_batch(conn, children=of(1), session="admin", on_end=on_end)
    following = enqueue(conn, session="admin")
    [run] = claim_just(conn, 1)
    fail(conn, run, discard=True)
    assert claim_awaited(conn).id == following


def test_the_session_is_held_while_the_callback_is_retried(conn):
    batch = enqueue_batch(conn, children=of(1), session="admin")
    following = enqueue(conn, session="admin")
    complete_all(conn, claim_just(conn, 1))
    fail(conn, callback_of(conn, batch), retry_in="1 hour")
    nothing_comes(conn)
    call(conn, "retry", job_id=batch)
    complete(conn, callback_of(conn, batch, attempt=2))
    assert claim_awaited(conn).id == following


def test_children_wait_for_the_turn_of_their_parent_in_its_session(conn):
    before = enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(2), session="admin")
    row = rows.live(conn, batch)
    assert (row.state, row.opens_batch, is_open(conn, batch)) == ("available", True, False)
    run = claim_next(conn)
    assert run.id == before
    nothing_comes(conn)
    fail(conn, run, retry_in="1 hour")
    nothing_comes(conn)
    assert not is_open(conn, batch)
    call(conn, "retry", job_id=before)
    complete(conn, claim_awaited(conn))
    assert ids(claim_just(conn, 2)) == children_of(conn, batch)
    assert is_open(conn, batch)


def test_no_job_of_the_session_overtakes_a_batch_whose_turn_it_is(conn):
    batch = enqueue_batch(conn, children=of(1), session="admin")
    urgent = enqueue(conn, session="admin", priority=-9)
    run = claim_awaited(conn)
    assert run.id == urgent, "the batch was not open yet"
    nothing_comes(conn)
    complete(conn, run)
    [child] = claim_just(conn, 1)
    enqueue(conn, session="admin", priority=-9)
    nothing_comes(conn)
    complete(conn, child)
    callback_of(conn, batch)


def test_a_batch_nested_in_one_that_waits_its_turn_does_not_start(conn):
    before = enqueue(conn, session="admin")
    outer = enqueue_batch(conn, children=of(1), session="admin")
    inner = enqueue_batch(conn, children=of(1), parent=outer)
    run = claim_next(conn)
    assert run.id == before
    nothing_comes(conn)
    complete(conn, run)
    runs = claim_just(conn, 2)
    assert {run.id for run in runs} == {children_of(conn, outer)[0], *children_of(conn, inner)}
    complete_all(conn, runs)
    complete(conn, callback_of(conn, inner))
    assert callback_of(conn, outer).children == ended(completed=2)


def test_two_batches_of_a_session_run_one_after_the_other(conn):
    first, second = (enqueue_batch(conn, children=of(2), session="admin") for _ in range(2))
    for batch in (first, second):
        runs = claim_just(conn, 2)
        assert {rows.live(conn, run.id).parent for run in runs} == {batch}
        complete_all(conn, runs)
        complete(conn, callback_of(conn, batch))


def test_a_batch_ahead_of_its_time_starts_nothing(conn):
    batch = enqueue_batch(conn, children=of(2), run_at="2100-01-01")
    assert rows.state(conn, batch) == "scheduled"
    nothing_comes(conn)
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [batch])
    complete_all(conn, claim_just(conn, 2))
    assert callback_of(conn, batch).children == ended(completed=2)


def test_a_batch_falls_due_and_opens(conn):
    soon = conn.execute("SELECT clock_timestamp() + interval '0.3 s'").fetchone()[0]
    batch = enqueue_batch(conn, children=of(2), run_at=soon)
    for run in claim_just(conn, 2):
        assert rows.live(conn, run.id).claimed_at >= soon
        complete(conn, run)
    callback_of(conn, batch)


def test_children_ahead_of_their_time_are_alive(conn):
    batch = enqueue_batch(conn, children=[*of(1), *of(1, run_at="2100-01-01")])
    first, later = children_of(conn, batch)
    complete_all(conn, claim_just(conn, 1))
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [later])
    complete_all(conn, claim_just(conn, 1))
    assert callback_of(conn, batch).children == ended(completed=2)


def test_children_without_a_gate_of_the_session_share_the_others(conn):
    """While the batch is open its children stand in line with all other jobs."""
    before = enqueue(conn)
    batch = enqueue_batch(conn, children=of(2), session="admin")
    behind = enqueue(conn)
    taken = ids(claim_just(conn, 4))
    assert sorted(taken) == sorted([before, *children_of(conn, batch), behind])


SLEEPS = {
    "claim_next": "SELECT id FROM turnstile.claim_next(wait => '60 s')",
    "claim": "SELECT id FROM turnstile.claim(ARRAY['default'], 3, wait => '60 s')",
    "wait_for_job": "CALL turnstile.wait_for_job(ARRAY['default'], '60 s')",
}


@pytest.mark.parametrize("call_of", SLEEPS.values(), ids=SLEEPS.keys())
def test_whoever_sleeps_is_woken_by_a_batch_that_can_be_opened(db, conn, call_of):
    sleeper = Sleeper(db.connect(), call_of)
    await_asleep(conn, 1)
    batch = enqueue_batch(conn, children=of(1), session="admin")
    assert sleeper.returned_without_sleeping_on_changes(conn).error is None
    child = children_of(conn, batch)
    assert sleeper.rows == [(child[0],)] or ids(claim_just(conn, 1)) == child


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_the_session_waits_for_the_claim_that_opens_a_batch_of_it(conn, other, end):
    """It has another job, and looks no further."""
    enqueue(conn, session="admin")
    batch = enqueue_batch(conn, children=of(1), session="admin")
    another = enqueue(conn, priority=1)
    following = enqueue(conn, session="admin", priority=9)
    complete(conn, claim_awaited(conn))
    other.execute("BEGIN; SAVEPOINT s")
    assert claim_next(other).id == another
    nothing_comes(conn)
    other.execute(end)
    runs = claim_just(conn, 1 if end == "COMMIT" else 2)
    assert {run.id for run in runs} == {*children_of(conn, batch), *([] if end == "COMMIT" else [another])}
    complete_all(conn, runs)
    complete(conn, callback_of(conn, batch))
    assert ids(claim_just(conn, 1)) == [following]
    assert conn.execute("SELECT * FROM turnstile.check()").fetchall() == []


@pytest.mark.parametrize("priority", [0, 9])
def test_of_two_batches_in_a_session_one_is_opened(conn, priority):
    enqueue(conn, session="admin")
    first = enqueue_batch(conn, children=of(1), session="admin")
    second = enqueue_batch(conn, children=of(1), session="admin", priority=priority)
    conn.execute("BEGIN")
    complete(conn, claim_awaited(conn))
    conn.execute("SELECT FROM turnstile.claim(ARRAY['default'], 10)")
    conn.execute("COMMIT")
    conn.execute("SELECT FROM turnstile.claim(ARRAY['default'], 10)")
    assert (is_open(conn, first), is_open(conn, second)) == (True, False)
    assert conn.execute("SELECT * FROM turnstile.check()").fetchall() == []


def test_the_opening_is_undone_with_the_claim(conn, other):
    batch = enqueue_batch(conn, children=of(2), session="admin")
    other.execute("BEGIN")
    for _ in range(3):
        claim_next(other)
    other.execute("ROLLBACK")
    assert ids(claim_just(conn, 2)) == children_of(conn, batch)
    assert is_open(conn, batch)


def test_a_batch_that_never_runs_itself_is_opened_by_a_claim_from_its_own_queue(conn):
    batch = enqueue_batch(conn, children=of(1, queue="sms"), queue="mail", session="admin", on_end="complete")
    nothing_comes(conn, "sms")
    assert [row.reason for row in call(conn, "why_waiting", job_id=batch)] == ["no_worker"]
    nothing_comes(conn, "mail")
    complete_all(conn, claim_just(conn, 1, "sms"))
    ends_as(conn, batch, "completed")


def test_children_of_batches_that_share_sessions_do_not_wait_in_a_circle(conn):
    """The first batch is later in its turn, and its child is first in the children's session."""
    other = enqueue(conn, queue="other")
    first = enqueue_batch(conn, children=[{"kind": "work", "session": "device"}], session="admin", after=[other])
    second = enqueue_batch(conn, children=[{"kind": "work", "session": "device"}], session="admin")
    runs = claim_just(conn, 1)
    assert ids(runs) == children_of(conn, second)
    complete_all(conn, runs)
    complete(conn, callback_of(conn, second))
    complete(conn, claim_next(conn, queue="other"))
    runs = claim_just(conn, 1)
    assert ids(runs) == children_of(conn, first)
