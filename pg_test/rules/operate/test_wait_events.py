"""What `pg_stat_activity` shows of a claim that cannot go on: the lock of the memory, or a rebuild by another session."""

import os
import signal
from contextlib import contextmanager

import pytest

from support.calls import enqueue
from support.sleepers import Sleeper, until

LANES = 20_000
TRIES = 200
OF_CLAIM = "SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid = %s AND wait_event_type IN ('LWLock', 'Lock')"
# What keeps using the memory. The function looks at all names under the lock, and gives few.
BUSY = {
    "figures": "DO $$ BEGIN LOOP PERFORM FROM turnstile_internal.figures('tenant'); END LOOP; END $$",
    "rebuild": "DO $$ BEGIN LOOP PERFORM turnstile.rebuild(); END LOOP; END $$",
}


@contextmanager
def _stopped(pid: int):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _event_of_a_claim(db, conn, busy: Sleeper) -> tuple | None:
    """What a claim waits for while another process stands still, wherever that is just now; nothing if it need not wait."""
    seen = []
    with db.connect() as caller:
        with _stopped(busy.pid):
            claim = Sleeper(caller, "SELECT FROM turnstile.claim_next('other')")

            def is_told() -> bool:
                seen[:] = conn.execute(OF_CLAIM, [claim.pid]).fetchall()
                return bool(seen) or not claim.is_alive()

            until(is_told, "a claim that waits or ends")
        claim.returned()
    assert claim.error is None
    return seen[0] if seen else None


@pytest.mark.parametrize(("busy", "event"), [("figures", ("LWLock", "turnstile")), ("rebuild", ("Lock", "object"))])
def test_a_claim_that_waits_shows_for_what(db, conn, busy, event):
    conn.execute(
        "INSERT INTO turnstile.job (kind, concurrency_key) SELECT 'work', 'key ' || n FROM generate_series(1, %s::int) AS n", [LANES]
    )
    enqueue(conn, tenant="acme")
    assert conn.execute("SELECT count(*) FROM turnstile_internal.figures('concurrency')").fetchone() == (LANES,)
    worker = Sleeper(db.connect(), BUSY[busy])
    try:
        assert any(_event_of_a_claim(db, conn, worker) == event for _ in range(TRIES))
    finally:
        conn.execute("SELECT pg_cancel_backend(%s)", [worker.pid])
        worker.returned()
