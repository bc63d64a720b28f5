"""Lanes that become empty although no claim looks at them leave memory by and by."""

import pytest

from support.batches import enqueue_batch, of
from support.calls import call, claim, claim_next, discard, enqueue, enqueue_many
from support.lapse import eventually

MANY = 30
SESSIONS = [{"kind": "work", "tenant": "acme", "session": f"s{n}"} for n in range(MANY)]


def _lanes(conn) -> int:
    return conn.execute("SELECT lanes FROM turnstile.memory WHERE database = current_database()").fetchone()[0]


def _cancel_batches(conn) -> None:
    for _ in range(MANY):
        call(conn, "cancel", job_id=enqueue_batch(conn, children=of(1)))


def _delete_from_paused_queue(conn) -> None:
    enqueue_many(conn, SESSIONS)
    call(conn, "pause_queue", name="default")
    conn.execute("DELETE FROM turnstile.job")


def _cancel_for_tenant_without_slots(conn) -> None:
    call(conn, "set_tenant", name="acme", slots=0)
    enqueue_many(conn, SESSIONS)
    call(conn, "cancel_many", tenant="acme")


def _move_to_one_lane(conn) -> None:
    enqueue_many(conn, SESSIONS)
    conn.execute("UPDATE turnstile.job SET session = NULL")
    conn.execute("DELETE FROM turnstile.job")


def _delete_while_memory_is_built(conn) -> None:
    enqueue_many(conn, SESSIONS)
    call(conn, "rebuild")
    conn.execute("DELETE FROM turnstile.job")


GONE = {
    "cancelled batches": _cancel_batches,
    "deleted behind a pause": _delete_from_paused_queue,
    "cancelled behind no slots": _cancel_for_tenant_without_slots,
    "moved": _move_to_one_lane,
    "deleted after a rebuild": _delete_while_memory_is_built,
}


@pytest.mark.parametrize("go", GONE.values(), ids=GONE.keys())
def test_lanes_of_jobs_that_are_gone_leave_memory_although_nobody_claims(conn, go):
    assert claim_next(conn, "none") is None
    go(conn)
    eventually(lambda: _lanes(conn) == 0)
    assert call(conn, "check") == []


def test_lanes_behind_gates_that_stay_closed_leave_memory_while_there_are_claims(conn):
    """Whoever takes the last job of a lane need not see that it is the last; the batch fails, and starts nothing more."""
    for _ in range(MANY):
        enqueue_batch(conn, children=of(1), max_failed=0, on_end="complete")
    for run in claim(conn, ["default"], MANY):
        discard(conn, run)

    def is_empty() -> bool:
        assert claim_next(conn) is None
        return _lanes(conn) == 0

    eventually(is_empty)
    assert call(conn, "check") == []


def test_lanes_with_jobs_stay(conn):
    """Of each, one job has gone and one is left."""
    assert claim_next(conn, "none") is None
    enqueue_many(conn, SESSIONS * 2)
    call(conn, "pause_queue", name="default")
    conn.execute("DELETE FROM turnstile.job WHERE id IN (SELECT min(id) FROM turnstile.job GROUP BY session)")
    lost = enqueue(conn, queue="other")
    call(conn, "cancel", job_id=lost)
    eventually(lambda: _lanes(conn) == MANY)
    assert call(conn, "check") == []
    call(conn, "resume_queue", name="default")
    assert len(claim(conn, ["default"], 2 * MANY)) == MANY
