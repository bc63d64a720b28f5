"""A cursor of recent() outlives a crash of the server, also where commits do not wait for the disk."""

import pytest

from faults.cluster import own_cluster
from support.calls import claim_next, complete, enqueue_times
from support.database import fresh_database
from support.tail import Tail, history


@pytest.fixture(scope="module")
def cluster():
    # The server writes its log so late by itself that it is written only where somebody has it written.
    with own_cluster("faults_tails", max_connections=20, synchronous_commit="off", wal_writer_delay="10s") as cluster:
        yield cluster


def test_a_crash_takes_back_nothing_that_was_given(cluster):
    with fresh_database() as db:
        tail = Tail(db.connect())
        for _ in range(3):
            conn, worker = db.connect(), db.connect()
            enqueue_times(conn, 3)
            worker.execute("BEGIN")
            complete(worker, claim_next(worker))
            given = claim_next(conn)
            complete(conn, given)
            assert tail.ids() == [given.id]
            # Nobody has it written, and its transaction id may be given out again.
            complete(conn, claim_next(conn))
            cluster.restart(immediate=True)
            tail.conn = db.connect()
            tail.to_the_end()
            assert tail.seen == history(tail.conn)
            tail.conn.execute("DELETE FROM turnstile.job")
