"""Bounds of backlogs across crashes of the server and restores."""

import os

import psycopg
import pytest

from faults.cluster import crash_by_killing, own_cluster
from faults.restores import restored
from support.backlogs import FULL, JOB, bound, free, waiting
from support.calls import call, claim_next, enqueue, enqueue_many, enqueue_times, fail
from support.database import disagreements, fresh_database
from support.errors import refused
from support.settings import configure


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_backlogs", max_connections=20) as cluster:
        yield cluster


def _stop_at_once(cluster, producer):
    cluster.restart(immediate=True)


def _stop(cluster, producer):
    cluster.restart()


def _kill_the_producer(cluster, producer):
    crash_by_killing(producer.info.backend_pid)


@pytest.mark.parametrize("crash", [_kill_the_producer, _stop_at_once, _stop], ids=["SIGKILL", "immediate stop", "stop"])
def test_after_a_crash_the_committed_jobs_count_and_no_others(cluster, crash):
    with fresh_database() as db:
        conn, producer = db.connect(), db.connect()
        bound(conn, 4)
        enqueue_times(conn, 2, **JOB)
        producer.execute("BEGIN")
        enqueue_times(producer, 2, **JOB)
        with refused(FULL):
            enqueue(conn, **JOB)
        crash(cluster, producer)
        assert free(db.connect()) == 2
        assert disagreements(db) == []


def _is_full(conn, tenant) -> bool:
    try:
        enqueue(conn, tenant=tenant)
    except psycopg.errors.ConfigurationLimitExceeded:
        return True
    return False


def test_names_that_do_not_fit_have_no_bound_until_there_is_room():
    tenants = [f"t{number}" for number in range(100)]
    with own_cluster("faults_few_names", **{"turnstile.max_memory": "256kB"}), fresh_database() as db:
        conn = db.connect()
        configure(conn, "tenant", "*", max_waiting=1)
        enqueue_many(conn, [{"kind": "work", "tenant": tenant} for tenant in tenants])
        full = [tenant for tenant in tenants if _is_full(conn, tenant)]
        assert 0 < len(full) < len(tenants)
        conn.execute("DELETE FROM turnstile.job WHERE tenant = ANY (%s)", [full[::3]])
        assert call(conn, "check") == []
        assert not _is_full(conn, full[0]) and _is_full(conn, full[1])
        conn.execute("DELETE FROM turnstile.job")
        assert [_is_full(conn, tenant) for tenant in tenants[:20] * 2] == [False] * 20 + [True] * 20
        assert disagreements(db) == []


@pytest.mark.parametrize("options", [["-Fc"], ["-Fp"], ["-Fc", "--inserts"]], ids=["custom", "plain", "as inserts"])
def test_a_restore_brings_more_jobs_than_the_bound(db, conn, tmp_path, options):
    """A run that failed has passed it, and it was lowered later."""
    bound(conn, 3)
    enqueue_times(conn, 3, **JOB)
    run = claim_next(conn, "mail")
    enqueue(conn, **JOB)
    fail(conn, run, retry_in="1 hour")
    bound(conn, 2)
    with restored(db, conn, os.fspath(tmp_path / "dump"), options) as copy:
        there = copy.connect()
        assert waiting(there) == 4
        with refused(FULL) as caught:
            enqueue(there, **JOB)
        assert "4 waiting" in caught.value.diag.message_detail
        assert disagreements(copy) == []
