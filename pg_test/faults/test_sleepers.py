"""64 sleepers: none holds up a stop of the server or a cancel, and together they cost nothing while nothing happens;
nor do those who listen.

`TURNSTILE_IDLE_SECONDS` sets how long they sleep while they are watched.
"""

import os
import time
from pathlib import Path

import pytest

from faults.cluster import own_cluster
from support.calls import claim_next, enqueue
from support.database import fresh_database, server
from support.listeners import NOTIFIER, Listener
from support.modules import must_be_available
from support.sleepers import put_to_sleep, until, woken_by_the_end

CLAIM = "SELECT * FROM turnstile.claim_next(wait => '10 minutes')"
WAIT = "CALL turnstile.wait_for_job(ARRAY['default'], '10 minutes')"
SLEEPERS = 64
IDLE_SECONDS = float(os.environ.get("TURNSTILE_IDLE_SECONDS", "3"))
# The kernel counts by the hundredth of a second; 64 processes may take this much of it together.
CPU_TICKS = 10

QUIET = {
    "fsync": "off",
    "max_connections": 100,
    "shared_preload_libraries": "turnstile,pg_stat_statements",
    "pg_stat_statements.track": "all",
    # What the server writes by itself would hide what sleepers write.
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
}


def _all_asleep(db, conn) -> list:
    half = SLEEPERS // 2
    sleepers = put_to_sleep(db, conn, half, CLAIM)
    return sleepers + put_to_sleep(db, conn, half, WAIT, expected=SLEEPERS)


@pytest.mark.parametrize("immediate", [False, True], ids=["fast", "immediate"])
def test_the_server_stops_under_sleepers(immediate):
    with own_cluster("sleepers", fsync="off", max_connections=100) as cluster, fresh_database() as db:
        sleepers = _all_asleep(db, db.connect())
        cluster.restart(immediate)
        for sleeper in sleepers:
            assert sleeper.returned().error is not None
        conn = db.connect()
        enqueue(conn)
        assert claim_next(conn) is not None


@pytest.mark.parametrize("how", ["pg_cancel_backend", "pg_terminate_backend"])
def test_sleepers_go_when_they_are_told(how):
    with own_cluster("sleepers", fsync="off", max_connections=100), fresh_database() as db:
        conn = db.connect()
        sleepers = _all_asleep(db, conn)
        told = conn.execute(f"SELECT {how}(pid) FROM unnest(%s) AS pid", [[sleeper.pid for sleeper in sleepers]])
        assert told.fetchall() == [(True,)] * SLEEPERS
        for sleeper in sleepers:
            assert sleeper.returned().error is not None
        assert conn.execute("SELECT * FROM turnstile.check()").fetchall() == []
        enqueue(conn)
        assert claim_next(conn) is not None


def _cpu_ticks(pid: int) -> int:
    """Time in user and kernel mode; the second field of the file is a name in brackets."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


LOOKS = {
    "next transaction id": "SELECT pg_snapshot_xmax(pg_current_snapshot())",
    "end of the log": "SELECT pg_current_wal_insert_lsn()",
    "statements": "SELECT query, calls FROM pg_stat_statements WHERE query <> ALL (%(looks)s) ORDER BY query, calls",
}


def _look(conn) -> dict:
    given = {"looks": ["SELECT query, calls FROM pg_stat_statements WHERE query <> ALL ($1) ORDER BY query, calls"]}
    given["looks"] += [look for look in LOOKS.values() if "%" not in look]
    return {what: conn.execute(look, given if "%" in look else None).fetchall() for what, look in LOOKS.items()}


def test_sleepers_cost_nothing():
    """No statement, no transaction id, no log, no time of the processor."""
    with server() as admin:
        must_be_available(admin, "pg_stat_statements")
    with own_cluster("sleepers_idle", **QUIET), fresh_database() as db:
        conn = db.connect()
        conn.execute("CREATE EXTENSION pg_stat_statements")
        # What the server does at first use is over once a job has gone through.
        enqueue(conn)
        claim_next(conn)
        listener = Listener(db.connect(), "default", "*").find_nothing()
        with woken_by_the_end(conn, _all_asleep(db, conn)) as sleepers:
            pids = [conn.execute(NOTIFIER).fetchone()[0], listener.conn.info.backend_pid]
            pids += [sleeper.pid for sleeper in sleepers]
            conn.execute("SELECT pg_stat_statements_reset()")
            until(lambda: _look(conn) == _look(conn), "the server is quiet")
            before, ticks = _look(conn), sum(map(_cpu_ticks, pids))
            time.sleep(IDLE_SECONDS)
            assert _look(conn) == before
            assert sum(map(_cpu_ticks, pids)) - ticks <= CPU_TICKS
