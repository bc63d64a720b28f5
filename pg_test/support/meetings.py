"""What tests of calls that meet have in common: all jobs run to their end, and what must not have come of it is asked for."""

import time

from support.calls import Run, claim, complete_many
from support.lapse import PATIENCE


def run_all(conn, queues: list[str]) -> None:
    """Claims from these queues and completes until nothing is left."""
    give_up = time.monotonic() + PATIENCE
    while jobs := conn.execute("SELECT id, attempt, state FROM turnstile.job ORDER BY id").fetchall():
        assert time.monotonic() < give_up, f"nothing moves: {jobs}"
        conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE state IN ('retryable', 'scheduled')")
        complete_many(conn, [Run(job_id, attempt) for job_id, attempt, state in jobs if state == "running"])
        for queue in queues:
            complete_many(conn, claim(conn, [queue], 50))


def found_by(conn, queries: dict[str, str], given: dict | None = None) -> dict[str, list]:
    """The first rows of the queries that find any."""
    found = {what: conn.execute(query, given).fetchall()[:5] for what, query in queries.items()}
    return {what: rows for what, rows in found.items() if rows}
