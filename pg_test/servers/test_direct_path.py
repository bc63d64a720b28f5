"""Rows are changed directly on every version of the server: the log of its changes has what the direct path writes and no more."""

import re
import subprocess
from collections import Counter

import pytest

from support.calls import claim, complete, complete_many, enqueue_many, enqueue_times

JOBS = 40
RECORD = re.compile(r"rmgr: (\w+) .* desc: (\w+)", re.MULTILINE)
# Of a transaction, how often it wrote each kind of record.
KINDS = {"Heap UPDATE", "Heap HOT_UPDATE", "Heap DELETE", "Heap INSERT", "Heap LOCK", "Heap2 MULTI_INSERT"}
PLACES = """
SELECT current_setting('data_directory'), setting FROM pg_config WHERE name = 'BINDIR'
"""
SLOW = """
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN coalesce(NEW, OLD); END';
CREATE TRIGGER look BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION look()
"""


@pytest.fixture
def written(conn):
    """Runs a call in a transaction, and gives its result and its records by kind."""
    data, programs = conn.execute(PLACES).fetchone()

    def written(call):
        with conn.transaction():
            xid, begin = conn.execute("SELECT pg_current_xact_id()::text, pg_current_wal_insert_lsn()").fetchone()
            result = call()
        (end,) = conn.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        command = [f"{programs}/pg_waldump", "--path", f"{data}/pg_wal", "--xid", xid, "--start", begin, "--end", end]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = Counter(f"{manager} {kind}" for manager, kind in RECORD.findall(lines))
        return result, {kind: count for kind, count in found.items() if kind in KINDS}

    return written


def test_jobs_added_together_are_written_by_the_page(conn, written):
    _, records = written(lambda: enqueue_many(conn, [{"kind": "work"}] * JOBS))
    assert records.keys() == {"Heap2 MULTI_INSERT"}


def test_claims_write_each_job_once(conn, written):
    enqueue_times(conn, JOBS)
    _, records = written(lambda: claim(conn, ["default"], JOBS))
    assert records.pop("Heap LOCK") >= JOBS
    assert records == {"Heap UPDATE": JOBS}


def test_completions_lock_nothing_first(conn, written):
    enqueue_times(conn, JOBS)
    runs = claim(conn, ["default"], JOBS)
    _, one = written(lambda: complete(conn, runs[0]))
    assert one == {"Heap DELETE": 1, "Heap INSERT": 1}
    _, many = written(lambda: complete_many(conn, runs[1:]))
    assert many == {"Heap DELETE": JOBS - 1, "Heap2 MULTI_INSERT": many["Heap2 MULTI_INSERT"]}


def test_with_a_trigger_of_a_user_the_records_are_others(conn, written):
    enqueue_times(conn, JOBS)
    runs = claim(conn, ["default"], JOBS)
    conn.execute(SLOW)
    _, records = written(lambda: complete_many(conn, runs))
    assert records == {"Heap DELETE": JOBS, "Heap INSERT": JOBS, "Heap LOCK": JOBS}
