"""No id or position is given twice, whatever the server has lost."""

import pytest

from faults.cluster import own_cluster
from support.calls import enqueue_many, enqueue_times, ids
from support.database import fresh_database
from support.drawn import A_ROW, draw_ahead, grows, next_place, places

MORE_THAN_ARE_DRAWN = 1_200


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_numbers", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _many(conn, number: int) -> list[int]:
    return ids(enqueue_many(conn, [{"kind": "work"}] * number))


def _nothing(conn) -> None:
    pass


def _undo(conn) -> None:
    conn.execute("BEGIN")
    _many(conn, MORE_THAN_ARE_DRAWN)
    conn.execute("ROLLBACK")


def _leave_open(conn) -> None:
    conn.execute("BEGIN")
    _many(conn, MORE_THAN_ARE_DRAWN)


def _checkpoint(conn) -> None:
    conn.execute("CHECKPOINT")


@pytest.mark.parametrize("before", [_nothing, _undo, _leave_open, _checkpoint])
@pytest.mark.parametrize("immediate", [False, True], ids=["restart", "crash"])
def test_after_a_restart_numbers_go_on(cluster, db, conn, other, before, immediate):
    """Those that a transaction which was undone, or is not committed, has drawn for others, too."""
    made = [draw_ahead(conn)]
    before(other)
    made += enqueue_times(conn, 5)
    given = places(conn, made)
    cluster.restart(immediate)
    after = db.connect()
    assert places(after, made) == given
    assert grows([*given, *places(after, _many(after, MORE_THAN_ARE_DRAWN)), next_place(after)])


def test_after_a_crash_that_has_lost_commits(cluster, db, conn, other):
    """What nobody waits for on disk is lost together with what was drawn for it, or neither is."""
    conn.execute("SET synchronous_commit = off")
    made = [draw_ahead(conn)]
    _undo(other)
    made += enqueue_times(conn, A_ROW)
    cluster.restart(immediate=True)
    after = db.connect()
    left = after.execute("SELECT id, position FROM turnstile.job ORDER BY id").fetchall()
    assert grows([*left, *places(after, _many(after, MORE_THAN_ARE_DRAWN))])
