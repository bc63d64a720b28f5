"""Every function of the catalog called with nonsense: refused or done, but no crash, no internal error, nothing by halves.

TURNSTILE_CALLS tells how many calls.
"""

import os
import random
import re
from collections import Counter

import psycopg
import pytest

from faults.cluster import own_cluster
from faults.witness import agrees
from support import nonsense
from support.calls import claim, complete_many, enqueue_times
from support.database import fresh_database

CALLS = int(os.environ.get("TURNSTILE_CALLS", "100000"))
BATCH = 500
# So many of the arguments are huge.
HUGE = 0.001

# Runs each statement behind a savepoint of its own; tells the SQLSTATE of each, 00000 where it was done, and its time.
TRY = """
CREATE FUNCTION try_all(statements text[]) RETURNS TABLE (state text, seconds float8) LANGUAGE plpgsql AS $$
DECLARE statement text; began timestamptz;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        began := clock_timestamp();
        BEGIN
            EXECUTE statement;
            state := '00000';
        EXCEPTION WHEN OTHERS THEN
            state := SQLSTATE;
        END;
        seconds := extract(epoch FROM clock_timestamp() - began);
        RETURN NEXT;
    END LOOP;
END $$
"""
_BROKEN = re.compile(r"PANIC|panicked|terminated by signal|TRAP:| XX\d\d\d ")
SETTINGS = "DELETE FROM turnstile.queue; DELETE FROM turnstile.tenant; DELETE FROM turnstile.account; DELETE FROM turnstile.concurrency"


@pytest.fixture(scope="module")
def cluster():
    settings = {"fsync": "off", "max_connections": 50, "log_line_prefix": "%m [%p] %e ", "max_locks_per_transaction": 1024}
    with own_cluster("faults_bad_input", **settings) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


class Turns:
    """Whose turn it is: of all functions, and of plain DML, the one that has taken the least time so far."""

    def __init__(self, chance: random.Random, functions: list):
        self.chance = chance
        self.makers = {function[0]: lambda f=function: nonsense.call(chance, f, HUGE) for function in functions}
        self.makers["DML"] = lambda: nonsense.row(chance)
        self.spent = dict.fromkeys(self.makers, 0.0)
        self.calls = dict.fromkeys(self.makers, 0)

    def batch(self) -> list[tuple[str, str]]:
        """Names and statements; each turn is expected to take as long as those before it."""
        expected, chosen = dict(self.spent), []
        for _ in range(BATCH):
            name = min(expected, key=expected.__getitem__)
            expected[name] += max(self.spent[name] / (self.calls[name] or 1), 1e-5)
            chosen.append((name, self.makers[name]()))
        return chosen

    def took(self, name: str, seconds: float) -> None:
        self.spent[name] += seconds
        self.calls[name] += 1


def _refill(conn) -> None:
    """Jobs to wait and to run, in queues that no setting made of nonsense has stopped."""
    if conn.execute("SELECT to_regclass('turnstile.route')").fetchone()[0]:
        conn.execute("DELETE FROM turnstile.route")
    conn.execute(SETTINGS)
    conn.execute("DELETE FROM turnstile.job WHERE id < (SELECT max(id) - 300 FROM turnstile.job)")
    enqueue_times(conn, 20)
    claim(conn, ["default"], 5)


def _internal(seen: Counter) -> dict:
    return {what: times for what, times in seen.items() if what[1].startswith("XX")}


def test_nonsense_is_refused_or_done(cluster, db, conn, seed):
    chance = random.Random(seed)
    conn.execute(TRY)
    turns = Turns(chance, [function for function in conn.execute(nonsense.FUNCTIONS).fetchall() if not function[1]])
    seen = Counter()
    postmaster = cluster.pid
    for number in range(CALLS // BATCH):
        _refill(conn)
        batch = turns.batch()
        conn.execute("BEGIN")
        try:
            answers = conn.execute("SELECT * FROM try_all(%s)", [[statement for _, statement in batch]]).fetchall()
        except psycopg.Error as error:
            pytest.fail(f"a batch was cut short by {error}; it was {batch}")
        for (name, _), (state, seconds) in zip(batch, answers, strict=True):
            seen[name, state] += 1
            turns.took(name, seconds)
        nonsense.end(conn, chance, undone=0.3)
        if number % 20 == 0:
            agrees(conn)
    agrees(conn)
    assert _internal(seen) == {}
    assert min(turns.calls.values()) > 0
    done = {name for name, state in seen if state == "00000"}
    assert len(done) > 10, f"hardly anything was ever done: {seen}"
    _all_is_well(cluster, conn, postmaster)


def _all_is_well(cluster, conn, postmaster: int) -> None:
    assert cluster.pid == postmaster
    broken = [line for line in cluster.log.splitlines() if _BROKEN.search(line)]
    assert broken == []
    conn.execute("TRUNCATE turnstile.job")
    _refill(conn)
    enqueue_times(conn, 3, queue="fresh")
    assert complete_many(conn, claim(conn, ["fresh"], 5)) == 3
    agrees(conn)


def test_procedures_called_with_nonsense(cluster, db, conn, seed):
    """A procedure may commit, so it cannot be tried behind a savepoint; one that waits is cut short."""
    chance = random.Random(seed)
    procedures = [function for function in conn.execute(nonsense.FUNCTIONS).fetchall() if function[1]]
    postmaster = cluster.pid
    conn.execute("SET statement_timeout = '30ms'")
    seen = Counter()
    for function in procedures:
        for _ in range(300):
            statement = nonsense.call(chance, function)
            try:
                conn.execute(statement)
                seen[function[0], "00000"] += 1
            except psycopg.Error as error:
                assert error.sqlstate, f"the connection was lost: {statement}: {error}"
                seen[function[0], error.sqlstate] += 1
    conn.execute("SET statement_timeout = 0")
    assert _internal(seen) == {}
    _all_is_well(cluster, conn, postmaster)
