"""How long the statements of the dashboard take, in the database that the PG* variables name and bench/serve/fill has filled."""

import json
import time
from argparse import ArgumentParser
from statistics import median
from typing import Any

from lib.report import Report
from psycopg import Connection, connect
from serve import looking
from serve.statements import TYPES, Call, failures, figures, jobs, text

# As the program has them for each transaction.
SETTINGS = """
SET search_path = pg_catalog, pg_temp; SET TimeZone = 'UTC'; SET jit = off; SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_custom_plan
"""
STATES = ("available", "scheduled", "retryable", "blocked", "discarded")


class Viewers:
    """A connection for each role, on which statements are prepared: planned anew at each call, as those of the program are."""

    def __init__(self, timeout: str) -> None:
        self.timeout = timeout
        self.connections: dict[str, Connection] = {}
        self.prepared: set[tuple[str, str]] = set()

    def run(self, role: str, statement: str, arguments: tuple) -> list[tuple]:
        connection = self._connection(role)
        if (role, statement) not in self.prepared:
            types = f" ({TYPES[statement]})" if TYPES[statement] else ""
            connection.execute(f"PREPARE {statement}{types} AS {text(statement)}")
            self.prepared.add((role, statement))
        given = f" ({', '.join(map(_literal, arguments))})" if arguments else ""
        return connection.execute(f"EXECUTE {statement}{given}").fetchall()

    def _connection(self, role: str) -> Connection:
        if role not in self.connections:
            connection = connect(autocommit=True, prepare_threshold=None)
            connection.execute(SETTINGS)
            connection.execute(f"SET statement_timeout = '{self.timeout}'")
            connection.execute(f"SET ROLE {role}")
            self.connections[role] = connection
        return self.connections[role]


def _literal(argument: Any) -> str:
    return "NULL" if argument is None else "'" + str(argument).replace("'", "''") + "'"


def _times(viewers: Viewers, call: Call, rounds: int) -> tuple[list[float], int]:
    """Milliseconds, and the length of what is sent."""
    times, size = [], 0
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        rows = viewers.run(call.role, call.statement, call.arguments)
        times.append((time.perf_counter() - begin) * 1000)
        size = sum(len(row[0]) for row in rows)
    return times[1:], size


def _examples(viewers: Viewers, newest: int) -> dict[str, int]:
    found = {}
    with connect(autocommit=True) as connection:
        for state in STATES:
            row = connection.execute(
                "SELECT max(id) FROM (SELECT id FROM turnstile.jobs WHERE state = %s AND id > %s LIMIT 1000) AS found",
                [state, newest - 200_000 if state != "blocked" else 0],
            ).fetchone()
            found[state] = row[0] or 0
    return found


def main() -> None:
    found = ArgumentParser(description=__doc__)
    found.add_argument("--rounds", type=int, default=5, help="calls of each statement, after one that warms up (default: 5)")
    found.add_argument("--timeout", default="10s", help="statement_timeout (default: 10s; the program has 2s)")
    options = found.parse_args()
    viewers = Viewers(options.timeout)
    newest = json.loads(viewers.run("postgres", "newest", ())[0][0])["id"]
    calls = figures() + jobs(newest + 1, _examples(viewers, newest)) + failures(int(time.time()) * 1000)
    report = Report("serve_statements")
    report.heading("Statements of the dashboard")
    rows = []
    for call in calls:
        times, size = _times(viewers, call, options.rounds)
        rows.append([call.statement, call.role.rpartition("_")[2], call.remark, f"{median(times):.1f}", f"{max(times):.1f}", f"{size:,}"])
    report.table(["statement", "as", "", "ms", "at most", "bytes"], rows)
    report.heading("Looks for jobs")
    looks = [
        [role.rpartition("_")[2], name, f"{ms:.0f}", str(windows), str(count), f"{ids:,}"]
        for _ in range(2)
        for role, name, ms, windows, count, ids in looking.looks(viewers.run, newest)
    ]
    report.table(["as", "looked for", "ms", "windows", "jobs", "ids"], looks[len(looks) // 2 :])


if __name__ == "__main__":
    main()
