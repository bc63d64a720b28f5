"""Leases for which memory has no room: they end late, and none is forgotten."""

import time

import pytest

from faults.cluster import own_cluster
from faults.witness import is_sound
from support import rows
from support.calls import claim, claim_next, complete_many, enqueue_many
from support.database import fresh_database

RUNS = 1_200
PATIENCE = 60


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_leases_outside", fsync="off", **{"turnstile.max_memory": "256kB"}) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _run(conn, count: int, lease: str) -> list:
    enqueue_many(conn, [{"kind": "work"}] * count)
    return claim(conn, ["default"], count, lease=lease)


def _known(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.running_jobs(max_jobs => 100000)").fetchone()[0]


def _failed(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.job WHERE jsonb_array_length(errors) = 1").fetchone()[0]


def _until_none_runs(conn) -> None:
    give_up = time.monotonic() + PATIENCE
    while rows.counts(conn).get("running"):
        assert time.monotonic() < give_up, rows.counts(conn)
        time.sleep(0.05)


def test_a_run_that_memory_does_not_know_is_rescued_by_the_worker(db):
    conn = db.connect()
    assert len(_run(conn, RUNS, "1 second")) == RUNS
    assert 0 < _known(conn) < RUNS
    is_sound(conn)
    _until_none_runs(conn)
    assert _failed(conn) == RUNS
    is_sound(conn)


def test_rescue_finds_them_too(db):
    conn = db.connect()
    _run(conn, RUNS, "1 hour")
    assert _known(conn) < RUNS
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 second'")
    give_up = time.monotonic() + PATIENCE
    while rows.counts(conn).get("running"):
        assert time.monotonic() < give_up, rows.counts(conn)
        conn.execute("SELECT turnstile.rescue()")
        time.sleep(0.1)
    assert _failed(conn) == RUNS


def test_what_others_left_makes_room(db):
    conn = db.connect()
    first = _run(conn, RUNS, "1 hour")
    known = _known(conn)
    complete_many(conn, first)
    assert (_known(conn), rows.counts(conn).get("running", 0)) == (0, 0)
    _run(conn, known, "1 hour")
    assert _known(conn) == known
    is_sound(conn)


def test_after_a_rebuild(db):
    conn = db.connect()
    _run(conn, RUNS, "1 second")
    conn.execute("SELECT turnstile.rebuild()")
    assert 0 < _known(conn) < RUNS
    is_sound(conn)
    _until_none_runs(conn)
    assert claim_next(conn, "none") is None
