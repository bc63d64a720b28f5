"""No index has what a heartbeat changes, so that it writes no entry (a HOT update)."""

import contextlib

import pytest

from support.calls import call, claim, claim_next, enqueue_times


def _updates(conn) -> tuple[int, int]:
    """All, and those that are HOT, of this connection since its figures were last sent, which is between transactions."""
    query = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relid = 'turnstile.job'::regclass"
    return conn.execute(query).fetchone()


@contextlib.contextmanager
def _hot(conn, count: int):
    """So many updates are made here, in one transaction, and all are HOT."""
    conn.execute("BEGIN")
    before = _updates(conn)
    yield
    made, hot = (after - earlier for after, earlier in zip(_updates(conn), before, strict=True))
    conn.execute("COMMIT")
    assert (made, hot) == (count, count)


@pytest.mark.parametrize("lease", ["1 hour", "1 second"], ids=["longer", "shorter"])
def test_heartbeats_are_hot(conn, lease):
    enqueue_times(conn, 3)
    run, *others = claim(conn, ["default"], 3)
    with _hot(conn, 3):
        call(conn, "heartbeat", job_id=run.id, attempt=run.attempt, lease=lease)
        call(conn, "heartbeat_many", job_ids=[it.id for it in others], attempts=[it.attempt for it in others], lease=lease)
    assert claim_next(conn) is None
