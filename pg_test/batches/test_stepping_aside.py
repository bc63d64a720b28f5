"""await_children: a run adds children, steps aside while they live, and goes on with its next attempt."""

import pytest

from support import rows
from support.batches import (
    await_children, callback_of, children_of, claim_awaited, claim_just, complete_all, ended, enqueue_batch, nothing_comes, of,
)  # fmt: skip
from support.calls import Run, call, claim_next, complete, discard, enqueue, enqueue_times, fail, ids, release
from support.errors import NO_SUCH_JOB, WRONG_STATE, refused
from support.gates import TENANT


@pytest.fixture
def run(conn):
    """A run that may fail once only."""
    enqueue(conn, "map", max_attempts=1, tenant="acme")
    return claim_next(conn)


def _add(conn, run, number: int) -> list[int]:
    return enqueue_times(conn, number, kind="child", parent=run.id)


def test_a_run_steps_aside_until_its_children_have_ended(conn, run):
    made = _add(conn, run, 2)
    assert await_children(conn, run) is True
    row = rows.live(conn, run.id)
    assert (row.state, row.worker, row.lease_expires_at) == ("blocked", None, None)
    runs = claim_just(conn, 2)
    assert ids(runs) == made
    complete(conn, runs[0])
    nothing_comes(conn)
    discard(conn, runs[1])
    again = callback_of(conn, run.id, attempt=2)
    assert (again.kind, again.children) == ("map", ended(1, 1))
    assert again.max_attempts == 2, "the attempt before has not counted"
    assert complete(conn, again) is True


def test_without_live_children_a_run_goes_on(conn, run):
    assert await_children(conn, run) is False
    made = _add(conn, run, 1)
    [child] = claim_just(conn, 1)
    assert child.id == made[0]
    complete(conn, child)
    assert await_children(conn, run) is False
    assert rows.state(conn, run.id) == "running"
    assert complete(conn, run) is True


def test_a_run_goes_on_in_as_many_rounds_as_it_likes(conn, run):
    for number in range(1, 4):
        assert run.attempt == number
        _add(conn, run, number)
        assert await_children(conn, run) is True
        # Nothing is told of those before while children live.
        assert rows.live(conn, run.id).children is None
        complete_all(conn, claim_just(conn, number))
        run = callback_of(conn, run.id, attempt=number + 1)
    assert run.children == ended(completed=6)
    assert fail(conn, run) == "discarded", "it may fail once only"


def test_a_callback_adds_another_round(conn):
    batch = enqueue_batch(conn, children=of(2), max_attempts=1)
    complete_all(conn, claim_just(conn, 2))
    run = callback_of(conn, batch)
    _add(conn, run, 1)
    assert await_children(conn, run) is True
    complete_all(conn, claim_just(conn, 1))
    assert callback_of(conn, batch, attempt=2).children == ended(completed=3)


def test_who_has_stepped_aside_occupies_no_slot(conn, run):
    TENANT.limit(conn, 1)
    [child] = _add(conn, run, 1)
    assert rows.live(conn, child).tenant == "acme"
    nothing_comes(conn)
    assert await_children(conn, run) is True
    [child] = claim_just(conn, 1)
    complete(conn, child)
    callback_of(conn, run.id, attempt=2)


def test_who_has_stepped_aside_holds_its_session(conn):
    first, following = enqueue_times(conn, 2, session="admin")
    run = claim_next(conn)
    assert run.id == first
    _add(conn, run, 1)
    assert await_children(conn, run) is True
    [child] = claim_just(conn, 1)
    complete(conn, child)
    again = callback_of(conn, first, attempt=2)
    complete(conn, again)
    assert claim_awaited(conn).id == following


def test_children_may_run_before_their_parent_steps_aside(conn, run):
    _add(conn, run, 2)
    first, second = claim_just(conn, 2)
    complete(conn, first)
    assert await_children(conn, run) is True
    nothing_comes(conn)
    complete(conn, second)
    assert callback_of(conn, run.id, attempt=2).children == ended(completed=2)


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_a_step_aside_that_was_rolled_back_never_was(conn, run, undo):
    conn.execute("BEGIN; SAVEPOINT s")
    _add(conn, run, 1)
    assert await_children(conn, run) is True
    conn.execute(undo)
    assert rows.state(conn, run.id) == "running"
    assert children_of(conn, run.id) == []
    assert complete(conn, run) is True


def test_the_run_that_has_stepped_aside_is_over(conn, run):
    _add(conn, run, 1)
    assert await_children(conn, run) is True
    for verb in ("complete", "fail", "release", "heartbeat", "await_children"):
        with refused(WRONG_STATE):
            call(conn, verb, job_id=run.id, attempt=run.attempt)
    assert rows.state(conn, run.id) == "blocked"


def test_a_superseded_or_unknown_run_cannot_step_aside(conn, run):
    release(conn, run)
    with refused(WRONG_STATE):
        await_children(conn, run)
    with refused(NO_SUCH_JOB):
        await_children(conn, Run(10**9, 1))


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_child_that_is_ending_meanwhile(conn, other, run, end):
    """Its end is not committed yet when the run looks: it steps aside, and comes back."""
    _add(conn, run, 1)
    [child] = claim_just(conn, 1)
    other.execute("BEGIN")
    complete(other, child)
    assert await_children(conn, run) is True
    nothing_comes(conn)
    other.execute(end)
    if end == "ROLLBACK":
        nothing_comes(conn)
        complete(conn, child)
    assert callback_of(conn, run.id, attempt=2).children == ended(completed=1)
