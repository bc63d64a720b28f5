"""Records one history: clients at work, crashes, then rest; all that the checker needs, in one directory."""

import contextlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from faults.cluster import own_cluster
from histories import mix
from histories.administrator import Administrator
from histories.closing import Closer
from histories.client import Lost
from histories.crew import Crew, Station
from histories.disturber import Disturber
from histories.hasty import Hasty
from histories.lookout import Lookout
from support.database import fresh_database

SLOT = "histories"
# Jobs that may wait, so that a claim has a choice and a scan over all of them stays cheap.
ENOUGH_WAITING = 1000
PREPARED = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND prepared < clock_timestamp() - %s::interval"
PIN = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM turnstile.queue"
WAITING = "SELECT count(*) FROM turnstile.job WHERE state <> 'running'"
STALL = 60
SETTINGS = {
    "fsync": "off",
    "wal_level": "logical",
    "max_connections": 60,
    "max_prepared_transactions": 20,
    "deadlock_timeout": "100ms",
    # Compiling what an administrator asks once would take as much of the processor as the clients do.
    "jit": "off",
    # Jobs come and go a thousand times a second; where a snapshot is pinned, nothing can be removed all the same.
    "autovacuum_naptime": "5s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %e ",
    "max_wal_size": "4GB",
    # Nobody else writes the log for claims that do not wait for that.
    "wal_writer_delay": "1s",
    "max_locks_per_transaction": 128,
}
TABLES = ["queue", "tenant", "account", "concurrency", "batch"]


@dataclass
class Plan:
    """What a history is made of; the same plan gives the same mix of calls."""

    seed: int
    operations: int = 20_000
    crashes: int = 1
    settings: dict = field(default_factory=dict)
    pinned: bool = False  # a snapshot stays open, so that nothing dead can be removed
    seconds: float = 0.0  # not shorter than this
    leisure: float = 0.0  # for how long a client rests between its steps, at most


class Stalled(Exception):
    """Nothing is done any more."""


def record(plan: Plan, directory: Path) -> dict:
    """Runs the plan and leaves its record in the directory; returns how often what was done."""
    directory.mkdir(parents=True, exist_ok=True)
    with own_cluster(f"histories_{os.getpid()}", **(SETTINGS | plan.settings)) as cluster, fresh_database() as database:
        with _log_kept(cluster, directory):
            station = Station(directory, database.name, plan.seed, plan.leisure)
            _begin(station)
            done = _run(plan, cluster, station)
            Closer(station).close()
            _collect(station)
        (directory / "plan.json").write_text(json.dumps({**vars(plan), "done": done}))
    return done


@contextlib.contextmanager
def _log_kept(cluster, directory: Path):
    """The server's log is in the directory afterwards, whatever happened: the cluster does not outlive its record."""
    try:
        yield
    finally:
        (directory / "server.log").write_text(cluster.log)


def _begin(station: Station) -> None:
    with psycopg.connect(dbname=station.dbname, autocommit=True) as conn:
        conn.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [SLOT])
        rows = {table: _rows(conn, f"turnstile.{table}") for table in TABLES}
        (station.directory / "settings.json").write_text(json.dumps(rows))
    first = Administrator(station, "first", station.seed)
    first.connect()
    for change in mix.first_rows():
        first.apply("set limit", change)
    for _ in range(20):
        first.set_limit()
    first.conn.close()


def _run(plan: Plan, cluster, station: Station) -> dict:
    crew = Crew(station)
    lookout = Lookout(station.dbname)
    # Where all lanes fit, order is exact; with too little memory it is not.
    disturber = Disturber(cluster, lookout, crew, plan.seed, changes_memory="turnstile.max_memory" in plan.settings)
    pin = Lookout(station.dbname)
    began = time.monotonic()
    try:
        for crash in range(plan.crashes + 1):
            if plan.pinned:
                pin.leave()
                pin.ask(PIN)
            part = (crash + 1) / (plan.crashes + 1)
            _until(station, crew, disturber, plan.operations * part, began + plan.seconds * part)
            if crash < plan.crashes:
                _crash(station, crew, disturber)
                _check(station)
        crew.finish()
        # Its connection may be from before the last crash, if nothing was left to do after it.
        lookout.leave()
        _end_prepared(lookout, "0")
        lookout.leave()
        pin.leave()
    except BaseException:
        crew.abandon()
        raise
    clock = time.time() - time.monotonic()
    (station.directory / "crashes.json").write_text(json.dumps({"clock": clock, "crashed": disturber.crashed}))
    return {"operations": station.operations, **disturber.done}


def _crash(station: Station, crew: Crew, disturber: Disturber) -> None:
    """The log is not written by others meanwhile, so that the claims before it are lost."""
    hasty = Hasty(station, "hasty", station.seed)
    with crew.standing_still():
        # A disturbance may have taken its connection.
        with contextlib.suppress(Lost):
            hasty.claim()
        disturber.crash()
    hasty.go_on()


def _until(station: Station, crew: Crew, disturber: Disturber, operations: float, end: float) -> None:
    """Lets the clients work until so many operations are done and it is so late, with a disturbance now and then."""
    before, since = station.operations, time.monotonic()
    while station.operations < operations or time.monotonic() < end:
        time.sleep(0.2)
        with contextlib.suppress(psycopg.OperationalError):
            station.full.value = disturber.lookout.ask(WAITING)[0] > ENOUGH_WAITING
            _end_prepared(disturber.lookout)
        disturber.disturb_at_times(station.operations)
        if crew.failed():
            raise RuntimeError(f"clients broke: {crew.failed()}: see {station.directory}/*.broken")
        if station.operations != before:
            before, since = station.operations, time.monotonic()
        elif time.monotonic() - since > STALL:
            raise Stalled(f"{before} operations, then none for {STALL} seconds")


def _end_prepared(lookout: Lookout, since: str = "3 seconds") -> None:
    """What a client prepared before it was killed."""
    for name in lookout.ask(PREPARED, [since]):
        with contextlib.suppress(psycopg.errors.UndefinedObject, psycopg.errors.ObjectNotInPrerequisiteState):
            lookout.ask(f"ROLLBACK PREPARED '{name}'")


def _check(station: Station) -> None:
    """What turnstile.check() says after a crash, while the clients come back."""
    checker = Administrator(station, "checker", station.seed)
    while checker.conn is None:
        with contextlib.suppress(Exception):
            checker.connect()
    checker.check()
    checker.conn.close()


def _rows(conn, table: str, columns: str = "*") -> list[dict]:
    query = f"SELECT to_jsonb(t) FROM (SELECT {columns} FROM {table}) t"
    return [row[0] for row in conn.execute(query)]


def _collect(station: Station) -> None:
    """The commit-ordered stream and the tables at rest."""
    changes = (
        f"COPY (SELECT data FROM pg_logical_slot_get_changes('{SLOT}', NULL, NULL,"
        " 'include-timestamp', 'on', 'skip-empty-xacts', 'on')) TO STDOUT"
    )
    with psycopg.connect(dbname=station.dbname, autocommit=True) as conn:
        with (station.directory / "stream").open("wb") as stream, conn.cursor() as cursor, cursor.copy(changes) as copy:
            for block in copy:
                stream.write(block)
        rest = {
            "live": _rows(conn, "turnstile.job", "id, state, attempt"),
            "finished": _rows(conn, "turnstile.job_history", "id, state, attempt"),
        }
        (station.directory / "rest.json").write_text(json.dumps(rest))
        conn.execute("SELECT pg_drop_replication_slot(%s)", [SLOT])
