"""What the server has spent: WAL, dead rows, processor time, transactions."""

from dataclasses import dataclass
from os import sysconf
from pathlib import Path
from time import monotonic, sleep

import psycopg

TICKS = sysconf("SC_CLK_TCK")

REAPED_WITHIN = 0.2
MOST_SECONDS_TO_QUIET = 5.0

OTHERS = """
    SELECT count(*)
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""

COUNTERS = """
    SELECT pg_current_wal_insert_lsn() - '0/0', xact_commit + xact_rollback,
        (SELECT coalesce(sum(n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables)
    FROM pg_stat_database
    WHERE datname = current_database()"""


@dataclass(frozen=True)
class Reading:
    wal_bytes: float
    transactions: float
    dead_rows: float
    cpu_seconds: float

    def since(self, before: "Reading") -> "Reading":
        return Reading(*(now - then for now, then in zip(vars(self).values(), vars(before).values(), strict=True)))


def read(connection: psycopg.Connection) -> Reading:
    _await_quiet(connection)
    connection.execute("SELECT pg_stat_force_next_flush()")
    wal, transactions, dead = connection.execute(COUNTERS).fetchone()
    return Reading(float(wal), float(transactions), float(dead), _cpu_seconds(connection))


def _await_quiet(connection: psycopg.Connection) -> None:
    """What a process has used is nowhere to be read between its end and its parent's notice of it."""
    ends = monotonic() + MOST_SECONDS_TO_QUIET
    while connection.execute(OTHERS).fetchone()[0] and monotonic() < ends:
        sleep(REAPED_WITHIN)
    sleep(REAPED_WITHIN)


def _cpu_seconds(connection: psycopg.Connection) -> float:
    """Of all processes of the server, the ended ones too: those are counted by their parent."""
    postmaster = int(_fields(Path(f"/proc/{connection.info.backend_pid}/stat"))[1])
    total = _ticks(postmaster, with_ended=True)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(_fields(stat)[1]) == postmaster:
                total += _ticks(int(stat.parent.name), with_ended=False)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / TICKS


def _fields(stat: Path) -> list[str]:
    """Those behind the name, which may have blanks: state, parent, …"""
    return stat.read_text().rpartition(")")[2].split()


def _ticks(pid: int, with_ended: bool) -> int:
    user, system, ended_user, ended_system = (int(value) for value in _fields(Path(f"/proc/{pid}/stat"))[11:15])
    return user + system + (ended_user + ended_system if with_ended else 0)
