"""A rebuild after a restart that waits for a session which rewrites the table."""

import pytest

from faults.cluster import own_cluster
from faults.witness import is_sound
from findings.behind import behind
from findings.verbs import full
from support.calls import claim_all, claim_next, enqueue, ids
from support.database import fresh_database


@pytest.fixture
def the_server_stays_up():
    """It is restarted here."""


def test_it_passes_no_limit_and_loses_no_job():
    with own_cluster("findings_restart", fsync="off", max_connections=100) as cluster, fresh_database() as db:
        conn = db.connect()
        full(conn)
        others = [enqueue(conn, tenant=tenant) for tenant in ("b", "c", "d")]
        cluster.restart()
        caller, other = db.connect(), db.connect()
        first = behind(db, caller, lambda: claim_next(caller))
        assert [first.id, *ids(claim_all(other))] == others
        is_sound(other)
