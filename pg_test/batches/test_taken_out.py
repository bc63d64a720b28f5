"""Children that are taken out of their batch, given to another, or left by their parent, before anybody has looked at them there: nothing is forgotten."""

import time

import pytest

from support import rows
from support.batches import claim_awaited, ended, ends_as, enqueue_batch, nothing_comes
from support.calls import call, cancel, claim_next, complete, enqueue
from support.lapse import PATIENCE
from support.untold import untold

MOVE = "UPDATE turnstile.job SET parent = %s WHERE kind = 'child'"
CHILD = "SELECT id FROM turnstile.jobs WHERE kind = 'child'"


def _batch(conn, session=None, **child) -> int:
    return enqueue_batch(conn, children=[{"kind": "child", "queue": "kids", **child}], session=session, queue="batches")


def _comes(conn, child: int) -> None:
    """The child is claimed, and before it what else is there; batches are opened meanwhile."""
    def taken() -> bool:
        claim_next(conn, "batches")
        while (run := claim_next(conn, "kids")) is not None:
            if run.id == child:
                return True
            complete(conn, run)
        return False

    give_up = time.monotonic() + PATIENCE
    while not taken():
        assert time.monotonic() < give_up, f"child {child} does not come: {rows.counts(conn)}"
        time.sleep(0.01)


def _child(conn) -> int:
    return conn.execute(CHILD).fetchone()[0]


def _out(conn) -> None:
    conn.execute(MOVE, [None])


def _to_one_that_waits_for_its_turn(conn) -> None:
    other = enqueue_batch(conn, children=[{"kind": "other", "queue": "kids"}], session="other", queue="batches")
    conn.execute(MOVE, [other])


def _to_one_that_is_open(conn) -> None:
    other = enqueue_batch(conn, children=[{"kind": "other", "queue": "others"}], queue="batches")
    claim_awaited(conn, "others")
    conn.execute(MOVE, [other])


@pytest.fixture(autouse=True)
def walked(conn):
    """What looks at all jobs once, after memory was made, has done so."""
    enqueue(conn, queue="walked")
    complete(conn, claim_awaited(conn, "walked"))
    nothing_comes(conn, "walked")


def _left_by_its_batch(conn) -> None:
    conn.execute("DELETE FROM turnstile.job WHERE id = (SELECT parent FROM turnstile.job WHERE kind = 'child')")


MOVES = [_out, _left_by_its_batch, _to_one_that_waits_for_its_turn, _to_one_that_is_open]
ENDS = {
    "completed": lambda conn, job: complete(conn, claim_next(conn, "first")),
    "cancelled": lambda conn, job: cancel(conn, job),
    "deleted": lambda conn, job: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [job]),
}


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("moved_first", [False, True])
def test_what_it_comes_after_is_awaited(conn, session, move, end, moved_first):
    first = enqueue(conn, queue="first")
    _batch(conn, session, after=[first], after_any_end=True)
    steps = [lambda: end(conn, first), lambda: move(conn)]
    for step in reversed(steps) if moved_first else steps:
        step()
    _comes(conn, _child(conn))
    assert call(conn, "check") == []


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("move", MOVES)
def test_a_wrong_end_before_it_discards_it(conn, session, move):
    first = enqueue(conn, queue="first")
    _batch(conn, session, after=[first])
    cancel(conn, first)
    move(conn)
    ends_as(conn, _child(conn), "discarded")


@pytest.mark.parametrize("session", [None, "own"])
@pytest.mark.parametrize("move", MOVES)
def test_one_that_waits_only_for_its_batch_to_be_opened_waits_for_it_no_more(conn, move, session):
    enqueue(conn, queue="batches", session="s")
    enqueue_batch(conn, children=[{"kind": "child", "queue": "kids", "session": session}], session="s", queue="batches")
    nothing_comes(conn, "kids")
    move(conn)
    _comes(conn, _child(conn))
    assert call(conn, "check") == []


@pytest.mark.parametrize("session", [None, "own"])
def test_neither_where_memory_is_lost_at_that_moment(conn, session):
    enqueue(conn, queue="batches", session="s")
    enqueue_batch(conn, children=[{"kind": "child", "queue": "kids", "session": session}], session="s", queue="batches")
    with untold(conn, "job"):
        _left_by_its_batch(conn)
    call(conn, "rebuild")
    _comes(conn, _child(conn))


def test_the_batch_that_has_lost_it_ends(conn):
    batch = _batch(conn)
    conn.execute(MOVE, [None])
    callback = claim_awaited(conn, "batches")
    assert (callback.id, callback.children) == (batch, ended())
