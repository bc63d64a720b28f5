"""What restarts do to rates: memory has lost which starts there were, so a rate in force goes on without tokens, and a change from
the row of the name to that of the default or back brings none. Only where none was in force a rate begins with its burst."""

import pytest

from faults.cluster import own_cluster
from support.calls import claim_all, enqueue_times
from support.database import fresh_database

SET = "SELECT turnstile.set_tenant('{}', rate => {}, rate_per => '1 hour', burst => {})"
INHERIT = "SELECT turnstile.set_tenant('acme', clear => '{rate, rate_per, burst}')"
DELETE = "DELETE FROM turnstile.tenant WHERE name = 'acme'"


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_rates", max_connections=20) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as db:
        yield db


def _claimed(conn) -> int:
    enqueue_times(conn, 12, tenant="acme")
    return len(claim_all(conn))


@pytest.mark.parametrize("immediate", [True, False], ids=["crash", "clean"])
@pytest.mark.parametrize(
    "before, after",
    [
        ([SET.format("*", 1, 2)], [SET.format("acme", 1, 9)]),
        ([SET.format("*", 1, 2)], [SET.format("acme", 1, 9), INHERIT, SET.format("*", 1, 9)]),
        ([SET.format("acme", 1, 2)], [SET.format("*", 1, 9), INHERIT]),
        ([SET.format("acme", 1, 2)], [SET.format("*", 1, 9), DELETE]),
        ([SET.format("acme", 1, 2)], ["BEGIN", DELETE, SET.format("*", 1, 9), "COMMIT"]),
    ],
    ids=["its own", "its own and back", "inherited", "deleted", "deleted in a transaction"],
)
def test_a_change_of_rows_after_a_restart_brings_no_tokens(cluster, db, before, after, immediate):
    conn = db.connect()
    for statement in before:
        conn.execute(statement)
    assert _claimed(conn) == 2
    cluster.restart(immediate=immediate)
    conn = db.connect()
    for statement in after:
        conn.execute(statement)
    assert _claimed(conn) == 0


def test_a_rate_that_begins_after_a_restart_has_its_burst(cluster, db):
    conn = db.connect()
    conn.execute(SET.format("*", 1, 2))
    assert _claimed(conn) == 2
    conn.execute("SELECT turnstile.set_tenant('acme', rate => -1)")
    cluster.restart()
    conn = db.connect()
    conn.execute(SET.format("acme", 1, 3))
    assert _claimed(conn) == 3
