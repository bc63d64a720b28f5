"""Leases that end, and what becomes of the runs."""

import time

from support import rows

PATIENCE = 60
EXPIRED = "lease expired"
LOST = "connection lost"
# Background workers at work here, which may do at any time what is due.
WORKERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'turnstile upkeep' AND datname = current_database()"


def let_lease_end(conn, *runs) -> None:
    """Puts the end of these leases into the past, as if the time had gone by."""
    conn.execute(
        "UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 millisecond' WHERE id = ANY(%s)",
        [[run.id for run in runs]],
    )


def until(conn, job_id: int, state: str, meanwhile=lambda: None) -> None:
    """Waits until the job is in that state, doing something meanwhile."""
    give_up = time.monotonic() + PATIENCE
    while (found := rows.state(conn, job_id)) != state:
        assert time.monotonic() < give_up, f"job {job_id} is still {found}"
        meanwhile()
        time.sleep(0.01)


def eventually(is_so) -> None:
    give_up = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def errors(conn, job_id: int) -> list[str]:
    """The errors of a live job's failed attempts."""
    return [entry["error"] for entry in rows.live(conn, job_id).errors or []]
