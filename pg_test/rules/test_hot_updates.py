"""No index has what a claim or a heartbeat changes, so that it writes no entry (a HOT update)."""

import contextlib

import pytest

from support.calls import call, claim, claim_next, complete_many, enqueue_many, enqueue_times, release


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


@pytest.mark.parametrize("batch", [1, 100])
def test_claims_are_hot(conn, batch):
    enqueue_many(conn, [{"kind": "work"}] * 300)
    for _ in range(3):
        with _hot(conn, batch):
            assert len(claim(conn, ["default"], batch)) == batch


def test_claims_are_hot_while_an_old_snapshot_is_held(conn, other):
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT")
    for _ in range(5):
        enqueue_many(conn, [{"kind": "work"}] * 100)
        with _hot(conn, 100):
            runs = claim(conn, ["default"], 100)
        complete_many(conn, runs)


def test_claims_are_hot_after_others_were_rolled_back(conn):
    enqueue_many(conn, [{"kind": "work"}] * 100)
    for _ in range(3):
        conn.execute("BEGIN")
        claim(conn, ["default"], 100)
        conn.execute("ROLLBACK")
    with _hot(conn, 100):
        assert len(claim(conn, ["default"], 100)) == 100


def test_jobs_with_payloads_that_were_added_one_by_one(conn):
    enqueue_times(conn, 50, payload={"text": "x" * 500}, tenant="acme", session="s")
    for _ in range(20):
        with _hot(conn, 1):
            run = claim_next(conn)
        complete_many(conn, [run])


def test_a_run_that_is_bound_to_its_connection_has_an_entry(conn):
    """And only then."""
    enqueue_times(conn, 2)
    conn.execute("BEGIN")
    before = _updates(conn)
    release(conn, claim_next(conn, bind_to_connection=True))
    after = _updates(conn)
    conn.execute("COMMIT")
    assert after[0] - before[0] == 2
    assert after[1] == before[1]
