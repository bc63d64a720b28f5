"""What restarts do to figures: jobs are counted anew. What has happened before is kept over a clean one, and forgotten
after a crash, which stats_reset tells."""

from functools import partial

import pytest

from faults.cluster import own_cluster
from faults.witness import figures_agree
from support.calls import claim_next, complete, enqueue_times, fail
from support.crew import together
from support.database import fresh_database

STATISTICS = "SELECT enqueued, waiting, stats_reset FROM turnstile.stat_queue WHERE name = 'default'"


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_figures", max_connections=20) as cluster:
        yield cluster


def test_a_crash_sets_events_to_zero_and_says_so(cluster):
    with fresh_database() as db:
        conn = db.connect()
        enqueue_times(conn, 3)
        complete(conn, claim_next(conn))
        fail(conn, claim_next(conn), retry_in="1 hour")
        enqueued, waiting, before = conn.execute(STATISTICS).fetchone()
        assert (enqueued, waiting) == (3, 1)
        cluster.restart(immediate=True)
        conn = db.connect()
        assert conn.execute(STATISTICS).fetchone() is None
        figures_agree(conn)
        enqueue_times(conn, 1)
        enqueued, waiting, since = conn.execute(STATISTICS).fetchone()
        assert (enqueued, waiting) == (1, 2)
        assert since > before
        figures_agree(conn)


# How long jobs have waited is another thing each time.
ALL = "SELECT to_jsonb(it) - 'oldest_waiting' FROM turnstile.{} it ORDER BY name"
ALL_OF_QUEUES, ALL_OF_TENANTS = ALL.format("stat_queue"), ALL.format("stat_tenant")


def everything(conn):
    return [conn.execute(query).fetchall() for query in (ALL_OF_QUEUES, ALL_OF_TENANTS)]


def work_a_little(conn):
    enqueue_times(conn, 3)
    conn.execute("SELECT turnstile.enqueue('test', queue => 'other', tenant => 'Äcme \U0001f600 ' || repeat('x', 200))")
    complete(conn, claim_next(conn))
    fail(conn, claim_next(conn), retry_in="1 hour")


def test_a_clean_restart_keeps_what_has_happened(cluster):
    with fresh_database() as db, fresh_database() as idle:
        work_a_little(db.connect())
        work_a_little(idle.connect())
        before = everything(db.connect())
        before_of_idle = everything(idle.connect())
        assert len(before[0]) == 2 and len(before[1]) == 1
        cluster.restart()
        conn = db.connect()
        assert everything(conn) == before
        enqueue_times(conn, 1)
        complete(conn, claim_next(conn))
        assert conn.execute(STATISTICS).fetchone()[0] == 4
        figures_agree(conn)
        # One of which nobody has heard in between is not lost by the next restart.
        cluster.restart()
        assert everything(idle.connect()) == before_of_idle
        assert db.connect().execute(STATISTICS).fetchone()[0] == 4


def test_sessions_that_come_at_once_go_on_with_it(cluster):
    with fresh_database() as db:
        work_a_little(db.connect())
        cluster.restart()
        sessions = [db.connect() for _ in range(8)]
        together([partial(enqueue_times, session, 1) for session in sessions])
        assert db.connect().execute(STATISTICS).fetchone()[0] == 3 + len(sessions)
        figures_agree(db.connect())


def test_what_was_kept_does_not_come_back_after_a_crash(cluster):
    with fresh_database() as db, fresh_database() as idle:
        for each in (db, idle):
            work_a_little(each.connect())
        cluster.restart()
        assert db.connect().execute(STATISTICS).fetchone()[0] == 3
        cluster.restart(immediate=True)
        for each in (db, idle):
            conn = each.connect()
            assert conn.execute(STATISTICS).fetchone() is None
            figures_agree(conn)


def test_another_extension_does_not_get_them(cluster):
    with fresh_database() as db:
        work_a_little(db.connect())
        cluster.restart()
        conn = db.connect()
        conn.execute("DROP EXTENSION turnstile CASCADE")
        conn.execute("CREATE EXTENSION turnstile")
        assert conn.execute(STATISTICS).fetchone() is None
        enqueue_times(conn, 1)
        assert conn.execute(STATISTICS).fetchone()[0] == 1


def test_the_first_thing_after_a_restart_counts(cluster):
    """Nobody has used the memory yet when a worker ends the run that it had before."""
    with fresh_database() as db:
        conn = db.connect()
        enqueue_times(conn, 1)
        run = claim_next(conn)
        cluster.restart()
        conn = db.connect()
        assert complete(conn, run)
        assert conn.execute("SELECT completed, started FROM turnstile.stat_queue").fetchone() == (1, 1)
