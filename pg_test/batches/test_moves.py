"""Jobs of a batch that are moved: none comes into the session of one that waits for it, and what a batch holds stays held."""

import psycopg
import pytest

from support import rows
from support.batches import (
    await_children, callback_of, children_of, claim_awaited, claim_just, ended, enqueue_batch, nothing_comes, of,
)  # fmt: skip
from support.calls import call, claim, claim_next, complete, enqueue, fail
from support.errors import BAD_VALUE, refused

TO_X = "UPDATE turnstile.job SET queue = 'x' WHERE kind = 'par'"


def _waits_over(conn, session: str = "s", **parent) -> tuple[int, int]:
    """A parent that waits for a child in a session of that name, elsewhere."""
    enqueue(conn, "par", queue="y", session=session, **parent)
    run = claim_next(conn, "y")
    child = enqueue(conn, "kid", queue="x", session="s", parent=run.id)
    await_children(conn, run)
    return run.id, child


@pytest.mark.parametrize(
    "move",
    [
        TO_X,
        "UPDATE turnstile.job SET queue = 'x', tenant = NULL, session = 's' WHERE kind = 'par'",
        "UPDATE turnstile.job SET queue = 'x', state = 'available' WHERE kind = 'par'",
    ],
)
def test_a_parent_is_not_moved_into_the_session_of_its_child(conn, move):
    parent, child = _waits_over(conn)
    with refused(BAD_VALUE):
        conn.execute(move)
    complete(conn, claim_awaited(conn, "x"))
    assert callback_of(conn, parent, queue="y", attempt=2).children == ended(completed=1)


def test_a_child_is_not_moved_into_the_session_of_its_parent(conn):
    parent, child = _waits_over(conn)
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET queue = 'y' WHERE kind = 'kid'")
    assert claim_awaited(conn, "x").id == child


def test_neither_into_that_of_a_job_below_its_child(conn):
    top, child = _waits_over(conn)
    run = claim_awaited(conn, "x")
    conn.execute("UPDATE turnstile.job SET session = NULL WHERE id = %s", [child])
    enqueue(conn, "below", queue="z", session="s", parent=child)
    await_children(conn, run)
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET queue = 'z' WHERE id = %s", [top])
    conn.execute("UPDATE turnstile.job SET queue = 'v' WHERE id = %s", [top])


@pytest.mark.parametrize("state", ["waits for its turn", "runs", "has failed"])
def test_in_whatever_state_the_parent_is(conn, state):
    if state == "waits for its turn":
        enqueue(conn, queue="y", session="s")
        enqueue_batch(conn, "par", of(1, queue="x", session="s"), queue="y", session="s")
    else:
        enqueue(conn, "par", queue="y", session="s")
        run = claim_next(conn, "y")
        enqueue(conn, "kid", queue="x", session="s", parent=run.id)
        if state == "has failed":
            fail(conn, run, retry_in="1 hour")
    with refused(BAD_VALUE):
        conn.execute(TO_X)


def test_what_a_job_has_below_it_comes_along_under_a_new_parent(conn):
    top = enqueue_batch(conn, children=of(1), queue="x", session="s")
    _, child = _waits_over(conn, session="other")
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET parent = %s WHERE kind = 'par'", [top])
    conn.execute("UPDATE turnstile.job SET session = NULL WHERE id = %s", [child])
    conn.execute("UPDATE turnstile.job SET parent = %s WHERE kind = 'par'", [top])


def test_a_child_that_is_added_after_the_move_is_seen_with_it(conn):
    """In one transaction, which knew the parent from before."""
    enqueue(conn, "par", queue="y", session="s")
    parent = claim_next(conn, "y")
    conn.execute("BEGIN")
    enqueue(conn, parent=parent.id)
    conn.execute(TO_X)
    with refused(BAD_VALUE):
        enqueue(conn, queue="x", session="s", parent=parent.id)
    conn.execute("ROLLBACK")


@pytest.mark.parametrize("end", ["SELECT turnstile.cancel(%s)", "DELETE FROM turnstile.job WHERE id = %s"])
def test_a_child_may_be_moved_whose_batch_takes_no_more(conn, end):
    batch = enqueue_batch(conn, children=of(1, queue="x", session="s"))
    child = claim_awaited(conn, "x").id
    conn.execute(end, [batch])
    with pytest.raises(psycopg.Error):
        enqueue(conn, parent=batch)
    conn.execute("UPDATE turnstile.job SET queue = 'y' WHERE id = %s", [child])
    assert rows.live(conn, child).queue == "y"


def test_a_parent_is_seen_as_it_was_before_the_move_too(conn):
    batch = enqueue_batch(conn, children=of(1, queue="x", session="s"), queue="y")
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET state = 'available', queue = 'x', session = 's' WHERE id = %s", [batch])


# ---- reroute --------------------------------------------------------------------------------------


def _route(conn, kind: str, queue: str):
    call(conn, "set_route", pattern=kind, queue=queue, override=True)


def _reroute(conn, pattern: str, notices: list, max_jobs: int = 10_000) -> int:
    notices.clear()
    return call(conn, "reroute", pattern=pattern, max_jobs=max_jobs)[0][0]


@pytest.fixture
def notices(conn):
    kept = []
    conn.add_notice_handler(lambda notice: kept.append((notice.severity_nonlocalized, notice.sqlstate)))
    return kept


WARNED = [("WARNING", "22023")]


def test_a_child_stays_where_it_would_be_in_the_session_of_its_parent(conn, notices):
    _, child = _waits_over(conn)
    others = [enqueue(conn, "kid", queue="x"), enqueue(conn, "kid", queue="x", session="s")]
    _route(conn, "kid", "y")
    assert (_reroute(conn, "kid", notices), notices) == (2, WARNED)
    assert rows.live(conn, child).queue == "x"
    assert {rows.live(conn, job).queue for job in others} == {"y"}
    assert (_reroute(conn, "kid", notices), notices) == (0, WARNED)


def test_what_stays_does_not_stand_in_the_way_of_others(conn, notices):
    _, child = _waits_over(conn)
    others = [enqueue(conn, "kid", queue="x") for _ in range(3)]
    _route(conn, "kid", "y")
    assert [_reroute(conn, "kid", notices, max_jobs=2) for _ in range(3)] == [2, 1, 0]
    assert rows.live(conn, child).queue == "x"
    assert {rows.live(conn, job).queue for job in others} == {"y"}


def test_so_does_a_parent(conn, notices):
    enqueue(conn, queue="y", session="s")
    parent = enqueue_batch(conn, "par", of(1, queue="x", session="s"), queue="y", session="s")
    other = enqueue(conn, "par", queue="y")
    _route(conn, "par", "x")
    assert (_reroute(conn, "par", notices), notices) == (1, WARNED)
    assert (rows.live(conn, parent).queue, rows.live(conn, other).queue) == ("y", "x")


def test_of_two_that_would_meet_one_is_moved(conn, notices):
    enqueue(conn, queue="y", session="s")
    parent = enqueue_batch(conn, "par", of(1, kind="par", queue="x", session="s"), queue="y", session="s")
    [child] = children_of(conn, parent)
    _route(conn, "par", "z")
    assert (_reroute(conn, "par", notices), notices) == (1, WARNED)
    assert sorted(rows.live(conn, job).queue for job in (parent, child)) == ["x", "z"]
    complete(conn, claim_awaited(conn, "y"))
    nothing_comes(conn, "z")
    complete(conn, claim_awaited(conn, "x"))
    assert callback_of(conn, parent, queue="z").children == ended(completed=1)


def test_an_error_of_another_kind_fails_reroute_as_ever(conn, notices):
    """And what was left is forgotten: the next statement that would bring a job there is refused."""
    _waits_over(conn)
    conn.execute("ALTER TABLE turnstile.job ADD CONSTRAINT never CHECK (queue <> 'y' OR kind <> 'kid' OR session IS NOT NULL)")
    enqueue(conn, "kid", queue="x")
    _route(conn, "kid", "y")
    with pytest.raises(Exception, match="never"):
        _reroute(conn, "kid", notices)
    with refused(BAD_VALUE):
        conn.execute("UPDATE turnstile.job SET queue = 'y' WHERE kind = 'kid' AND session IS NOT NULL")


def test_what_waits_for_its_children_keeps_its_session_and_stays(conn, notices):
    parent, _ = _waits_over(conn)
    behind = enqueue(conn, queue="y", session="s")
    _route(conn, "par", "z")
    assert (_reroute(conn, "par", notices), notices) == (0, [])
    assert (rows.live(conn, parent).queue, rows.live(conn, parent).holds_session) == ("y", True)
    nothing_comes(conn, "y")
    complete(conn, claim_awaited(conn, "x"))
    complete(conn, callback_of(conn, parent, queue="y", attempt=2))
    assert claim_awaited(conn, "y").id == behind


def test_what_is_blocked_and_holds_nothing_is_moved(conn, notices):
    first = enqueue(conn)
    follower = enqueue(conn, "par", queue="y", session="s", after=[first])
    batch = enqueue_batch(conn, "par", of(1), queue="y")
    _route(conn, "par", "z")
    assert (_reroute(conn, "par", notices), notices) == (2, [])
    assert {rows.live(conn, job).queue for job in (follower, batch)} == {"z"}
    for run in claim_just(conn, 1) + claim(conn, ["y"], 5):
        complete(conn, run)
    assert claim_awaited(conn, "z").id in (follower, batch)
    assert call(conn, "check") == []
