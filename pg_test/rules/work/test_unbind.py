"""heartbeat(…, unbind => true): a run goes on elsewhere, and no connection's end is its end."""

import pytest

from support import rows, sleepers
from support.calls import call, claim_next, complete, enqueue, release
from support.errors import NULL_VALUE, WRONG_STATE, refused
from support.lapse import LOST, errors, until
from support.losses import terminate

BOUND = {"bind_to_connection": True, "lease": "1 day"}


def heartbeat(conn, run, **more) -> bool:
    return call(conn, "heartbeat", job_id=run.id, attempt=run.attempt, **more)[0][0]


def owner(conn, run) -> tuple:
    row = rows.live(conn, run.id)
    return row.owner_pid, row.owner_started_at


def _others(conn):
    return lambda: claim_next(conn, "another queue")


def test_a_run_that_was_handed_over_outlives_its_connection(conn, other):
    enqueue(conn)
    enqueue(conn)
    handed, kept = claim_next(other, **BOUND), claim_next(other, **BOUND)
    assert heartbeat(other, handed, lease="1 day", unbind=True) is True
    assert owner(conn, handed) == (None, None)
    terminate(conn, other.info.backend_pid)
    until(conn, kept.id, "retryable", _others(conn))
    assert errors(conn, kept.id) == [LOST]
    assert rows.state(conn, handed.id) == "running"
    assert heartbeat(conn, handed) is True
    assert complete(conn, handed) is True


def test_it_ends_with_its_lease(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    assert heartbeat(other, run, lease="300 milliseconds", unbind=True) is True
    other.close()
    until(conn, run.id, "retryable", lambda: claim_next(conn))
    assert errors(conn, run.id) == ["lease expired"]


def test_whoever_calls_unbinds(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    assert heartbeat(conn, run, unbind=True) is True
    assert owner(conn, run) == (None, None)


def test_without_it_the_run_stays_bound(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    before = owner(conn, run)
    assert before[0] == other.info.backend_pid
    for more in ({}, {"unbind": False}, {"lease": "1 hour"}):
        assert heartbeat(conn, run, **more) is True
        assert owner(conn, run) == before


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s; COMMIT"])
def test_what_is_rolled_back_leaves_it_bound(conn, other, undo):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    other.execute("BEGIN; SAVEPOINT s")
    heartbeat(other, run, unbind=True)
    other.execute(undo)
    assert owner(conn, run)[0] == other.info.backend_pid
    other.close()
    until(conn, run.id, "retryable", _others(conn))


def test_an_unbound_run_can_be_unbound_and_the_next_one_is_bound_again(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    for _ in range(2):
        assert heartbeat(other, run, unbind=True) is True
    release(conn, run)
    again = claim_next(other, **BOUND)
    assert owner(conn, again)[0] == other.info.backend_pid


def test_a_superseded_run_is_refused_and_null_too(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    with refused(NULL_VALUE):
        heartbeat(conn, run, unbind=None)
    release(conn, run)
    again = claim_next(other, **BOUND)
    with refused(WRONG_STATE):
        heartbeat(conn, run, unbind=True)
    assert owner(conn, again)[0] == other.info.backend_pid


def test_a_rebuild_finds_nothing_to_rescue(conn, other):
    enqueue(conn)
    run = claim_next(other, **BOUND)
    heartbeat(other, run, unbind=True)
    pid = other.info.backend_pid
    other.close()
    gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
    sleepers.until(lambda: conn.execute(gone, [pid]).fetchone()[0], "the backend has gone")
    conn.execute("SELECT turnstile.rebuild()")
    assert call(conn, "rescue")[0][0] == 0
    assert rows.state(conn, run.id) == "running"
