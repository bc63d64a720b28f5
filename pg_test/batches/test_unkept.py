"""In queues that keep no completed jobs: those on whose end others depend leave history all the same."""

import pytest
from psycopg import errors
from support import rows
from support.batches import (
    await_children,
    callback_of,
    claim_awaited,
    claim_just,
    complete_all,
    ended,
    enqueue_batch,
    nothing_comes,
    of,
)  # fmt: skip
from support.calls import (
    call,
    cancel,
    claim_next,
    complete,
    discard,
    enqueue,
    enqueue_many,
    ids,
)
from support.ended import history
from support.errors import WRONG_STATE, refused
from support.settings import configure

SHORT = "SET lock_timeout = '100ms'"


@pytest.fixture
def brief(conn):
    configure(conn, "queue", "default", keep_completed="0")
    # From here on it is certain for this connection: nobody has followers.
    enqueue(conn)
    complete(conn, claim_next(conn))
    assert history(conn) == []
    return conn


def test_children_are_counted_and_their_results_read(brief):
    batch = enqueue_batch(brief, children=of(2))
    for run in claim_just(brief, 2):
        complete(brief, run, result={"of": run.id})
    run = callback_of(brief, batch)
    assert run.children == ended(completed=2)
    assert [result.result for result in call(brief, "batch_results", id=batch)] == [{"of": job} for job in history(brief)]
    complete(brief, run)
    assert rows.state(brief, batch) == "completed"
    assert len(call(brief, "batch_results", id=batch)) == 2


def test_a_run_awaits_its_children(brief):
    parent = enqueue(brief)
    run = claim_next(brief)
    child = enqueue(brief, parent=parent)
    await_children(brief, run)
    complete_all(brief, claim_just(brief, 1))
    assert history(brief) == [child]
    run = claim_awaited(brief)
    assert (run.id, run.children) == (parent, ended(completed=1))


@pytest.mark.parametrize("end", [complete, discard])
def test_a_follower_learns_of_the_end(brief, end):
    first = enqueue(brief)
    follower = enqueue(brief, after=[first])
    end(brief, claim_next(brief))
    assert rows.live(brief, first) is None and history(brief)[0] == first
    if end is complete:
        assert ids(claim_just(brief, 1)) == [follower]
    else:
        nothing_comes(brief)
        assert rows.state(brief, follower) == "discarded"


def test_followers_within_an_array(brief):
    [first, second, third] = ids(
        enqueue_many(
            brief,
            [
                {"kind": "a", "ref": "a"},
                {"kind": "b", "ref": "b", "after_refs": ["a"]},
                {"kind": "c", "after_refs": ["b"]},
            ],
        )
    )
    for job in (first, second, third):
        run = claim_awaited(brief)
        assert run.id == job
        complete(brief, run)
    assert history(brief) == [first, second]


def test_nothing_comes_after_what_is_gone(brief):
    gone = enqueue(brief)
    complete(brief, claim_next(brief))
    with pytest.raises(errors.NoDataFound):
        enqueue(brief, after=[gone])
    with pytest.raises(errors.NoDataFound):
        enqueue(brief, parent=gone)


def test_an_end_waits_for_who_adds_a_follower(brief, other):
    first = enqueue(brief)
    run = claim_next(brief)
    with other.transaction():
        follower = enqueue(other, after=[first])
        brief.execute(SHORT)
        with pytest.raises(errors.LockNotAvailable):
            complete(brief, run)
    complete(brief, run)
    assert history(brief) == [first]
    assert ids(claim_just(brief, 1)) == [follower]


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_who_adds_a_follower_waits_for_an_end(brief, other, end):
    first = enqueue(brief)
    run = claim_next(brief)
    brief.execute("BEGIN")
    complete(brief, run)
    other.execute(SHORT)
    with pytest.raises(errors.LockNotAvailable):
        enqueue(other, after=[first])
    brief.execute(end)
    if end == "COMMIT":
        with pytest.raises(errors.NoDataFound):
            enqueue(other, after=[first])
        assert rows.everything(brief) == []
        return
    follower = enqueue(other, after=[first])
    complete(brief, run)
    assert ids(claim_just(brief, 1)) == [follower]


def test_a_follower_that_is_undone_changes_nothing(brief):
    enqueue(brief)
    run = claim_next(brief)
    with brief.transaction():
        with brief.transaction(force_rollback=True):
            enqueue(brief, after=[run.id])
        complete(brief, run)
    assert rows.everything(brief) == []


def test_a_follower_that_comes_while_the_setting_changes(conn, other, db):
    """Who adds it does not know of the setting yet, and who completes does not know of it."""
    enqueue(conn)
    run = claim_next(conn)
    other.execute("BEGIN")
    follower = enqueue(other, after=[run.id])
    configure(db.connect(), "queue", "default", keep_completed="0")
    complete(conn, run)
    other.execute("COMMIT")
    assert ids(claim_just(conn, 1)) == [follower]
    assert history(conn) == [run.id]


def test_a_child_whose_parent_left_nothing_does_not_come_back_without_it(conn):
    """The parent ended without waiting for it."""
    parent = enqueue(conn, queue="gone")
    run = claim_next(conn, "gone")
    child = enqueue(conn, queue="default", parent=parent)
    complete(conn, run)
    cancel(conn, child)
    conn.execute("DELETE FROM turnstile.job_history WHERE id = %s", [parent])
    with refused(WRONG_STATE):
        call(conn, "retry", job_id=child)
    conn.execute("UPDATE turnstile.job_history SET parent = NULL WHERE id = %s", [child])
    assert call(conn, "retry", job_id=child)[0][0] == "available"
