"""The server stops, and crashes, under 64 sleepers: none holds it up."""

import pytest

from faults.cluster import own_cluster
from support.calls import claim_next, enqueue
from support.database import fresh_database
from support.sleepers import put_to_sleep

CLAIM = "SELECT * FROM turnstile.claim_next(wait => '10 minutes')"
WAIT = "CALL turnstile.wait_for_job(ARRAY['default'], '10 minutes')"


@pytest.mark.parametrize("immediate", [False, True], ids=["fast", "immediate"])
def test_the_server_stops_under_sleepers(immediate):
    with own_cluster("sleepers", fsync="off", max_connections=100) as cluster, fresh_database() as db:
        conn = db.connect()
        sleepers = put_to_sleep(db, conn, 32, CLAIM)
        sleepers += put_to_sleep(db, conn, 64 - 32, WAIT, expected=64)
        cluster.restart(immediate)
        for sleeper in sleepers:
            assert sleeper.returned().error is not None
        conn = db.connect()
        enqueue(conn)
        assert claim_next(conn) is not None
