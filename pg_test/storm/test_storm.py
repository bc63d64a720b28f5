"""Workers beside changes of the tables that they work on: nothing is lost, no limit is passed, nothing is damaged, and no error
comes but those that plain SQL gives. STORM_SECONDS tells how long, STORM_DISCARD_SECONDS where the server is made to forget its
caches at every step, which only a server built for it can."""

import os
import random
import threading
import time
from dataclasses import dataclass

import psycopg
import pytest

from faults.witness import Sampler, has_each_once, is_sound, run_to_the_end
from storm.weather import TRIGGERS, Weather
from storm.workers import Worker
from support.crew import Progress, together
from support.database import GUARDS
from support.load import QUEUES, random_limits, set_limit
from support.modules import has_module
from support.runlog import Limits, repeated, violations
from support.sweep import most_finished_at_once



@dataclass(frozen=True)
class Force:
    """How strong a storm is: for how long, with how many workers, how long a change waits for them, and how many of its kinds
    there must have been at least."""

    seconds: float
    workers: int = 8
    patience: str = "2s"
    kinds: int = 10
    options: str = ""


FULL = Force(float(os.environ.get("STORM_SECONDS", "40")))
# A call takes a hundred times as long.
FORGETFUL = Force(float(os.environ.get("STORM_DISCARD_SECONDS", "60")), 3, "60s", 3, "-c debug_discard_caches=1")

DAMAGE = """
    SELECT index.indexrelid::regclass::text, bt_index_parent_check(index.indexrelid, true, true)
    FROM pg_index AS index JOIN pg_class AS class ON class.oid = index.indexrelid JOIN pg_am AS am ON am.oid = class.relam
    JOIN pg_class AS of_table ON of_table.oid = index.indrelid
    WHERE am.amname = 'btree' AND class.relkind = 'i' AND index.indisvalid AND of_table.relnamespace = 'turnstile'::regnamespace
"""
TABLES = """
    SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'turnstile'::regnamespace
    UNION ALL
    SELECT reltoastrelid::regclass::text FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'turnstile'::regnamespace AND reltoastrelid <> 0
"""


def _is_undamaged(conn) -> None:
    if not has_module(conn, "amcheck"):
        return
    assert len(conn.execute(DAMAGE).fetchall()) >= 5
    for (table,) in conn.execute(TABLES).fetchall():
        found = conn.execute("SELECT blkno, offnum, msg FROM verify_heapam(%s::regclass)", [table]).fetchall()
        assert found == [], f"{table}: {found}"


def _clear_up(conn, weather: Weather) -> None:
    for trigger in TRIGGERS:
        conn.execute(f"DROP TRIGGER IF EXISTS {trigger} ON turnstile.job")
    for column in weather.columns:
        conn.execute(f"ALTER TABLE turnstile.job DROP COLUMN {column}")
    conn.execute("DROP INDEX IF EXISTS turnstile.own_idx; ALTER TABLE turnstile.job DROP CONSTRAINT IF EXISTS own_check")


def _storm(db, conn, seed: int, force: Force) -> None:
    slots = random_limits(random.Random(seed))
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    sessions, lock = [], threading.Lock()

    def connect():
        session = psycopg.connect(dbname=db.name, autocommit=True, options=f"{GUARDS} {force.options}")
        with lock:
            sessions.append(session)
        return session

    progress = Progress(1)
    workers = [Worker(connect, seed + number, progress) for number in range(force.workers)]
    weather = Weather(db.connect(), seed, progress, force.patience)
    sampler = Sampler(db.connect, progress, slots)

    def clock():
        end = time.monotonic() + force.seconds
        while time.monotonic() < end and progress.going:
            time.sleep(0.05)
        progress.add()

    try:
        together([*workers, weather, sampler, clock], progress)
    finally:
        for session in sessions:
            session.close()
        print("changes", dict(weather.done), "refused", dict(weather.errors))
        print("calls", dict(sum((worker.done for worker in workers), type(weather.done)())))
        print("errors", dict(sum((worker.errors for worker in workers), type(weather.done)())), "sessions", len(sessions))

    runs = [run for worker in workers for run in worker.log.runs]
    assert violations(runs, Limits(slots)) == []
    assert repeated(runs) == []
    assert sampler.beyond == {}, f"limits passed: {sampler.beyond}"
    most = most_finished_at_once(conn)
    assert {gate: number for gate, number in most.items() if number > Limits(slots).greatest(gate)} == {}
    is_sound(conn)
    _is_undamaged(conn)
    assert len(weather.done) >= force.kinds, "the weather was calm"
    made = [job for worker in workers for job in worker.made]
    has_each_once(conn, made)
    _clear_up(conn, weather)
    run_to_the_end(conn, QUEUES, slots)
    has_each_once(conn, made)
    is_sound(conn)
    _is_undamaged(conn)


def test_workers_beside_a_storm_of_changes(db, conn, seed):
    _storm(db, conn, seed, FULL)


def test_workers_beside_a_storm_that_forget_their_caches(db, conn, seed):
    """What is used after it may have been freed is then freed each time."""
    most = int(conn.execute("SELECT max_val FROM pg_settings WHERE name = 'debug_discard_caches'").fetchone()[0])
    if most == 0:
        pytest.skip("this server was not built to discard its caches; see docs/internals/tests.md")
    _storm(db, conn, seed, FORGETFUL)
