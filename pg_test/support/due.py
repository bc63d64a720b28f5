"""Waiting for a job whose time has not come yet."""

import time

from support import rows
from support.calls import claim_next

PATIENCE = 60


def claim_when_due(conn, queue: str = "default"):
    """Asks again and again until a job is handed out, which must not be before its time."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if (job := claim_next(conn, queue)) is not None:
            row = rows.live(conn, job.id)
            assert row.claimed_at >= row.run_at, f"claimed before it was due: {row}"
            return job
        time.sleep(0.02)
    raise AssertionError(f"nothing became due in queue {queue} within {PATIENCE} seconds")
