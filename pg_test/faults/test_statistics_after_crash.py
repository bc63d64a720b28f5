"""What a crash does to figures: jobs are counted anew, and what has happened before is forgotten, which stats_reset tells."""

import pytest

from faults.cluster import own_cluster
from faults.witness import figures_agree
from support.calls import claim_next, complete, enqueue_times, fail
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
