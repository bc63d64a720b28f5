"""Who claimed before a crash or a restart is not known after it; who claims then is."""

import pytest

from faults.cluster import own_cluster
from support.calls import claim_next, enqueue
from support.database import fresh_database

WORKERS = "SELECT worker, queue, claims, jobs FROM turnstile.workers"


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_workers", max_connections=20) as cluster:
        yield cluster


@pytest.mark.parametrize("immediate", [False, True], ids=["a clean restart", "a crash"])
def test_a_start_of_the_server_forgets_who_claimed(cluster, immediate):
    with fresh_database() as db:
        conn = db.connect()
        enqueue(conn)
        claim_next(conn, worker="before")
        assert conn.execute(WORKERS).fetchall() == [("before", "default", 1, 1)]
        cluster.restart(immediate=immediate)
        conn = db.connect()
        assert conn.execute(WORKERS).fetchall() == []
        claim_next(conn, worker="after")
        assert conn.execute(WORKERS).fetchall() == [("after", "default", 1, 0)]
