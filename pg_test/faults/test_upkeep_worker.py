"""What the background worker for queues that nobody claims from must not be in the way of."""

import psycopg
import pytest

from faults.cluster import own_cluster
from support.calls import claim_next
from support.database import Database, fresh_database, server
from support.lapse import until

PAST = "INSERT INTO turnstile.job (kind, state, run_at) SELECT 'due', 'scheduled', '2000-01-01' FROM generate_series(1, %s)"
AT_WORK = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'turnstile upkeep' AND datname = %s"


def _at_work(admin, name: str) -> int:
    return admin.execute(AT_WORK, [name]).fetchone()[0]


@pytest.fixture
def storm():
    """A database in which the worker has much to do."""
    with fresh_database() as database:
        conn = database.connect()
        claim_next(conn, "another queue")
        conn.execute(PAST, [30_000])
        with server() as admin:
            while not _at_work(admin, database.name):
                pass
        yield database


def _drop(database: Database) -> None:
    database.close()
    with server() as admin:
        admin.execute(psycopg.sql.SQL("DROP DATABASE {}").format(psycopg.sql.Identifier(database.name)))
        assert _at_work(admin, database.name) == 0


def test_a_database_can_be_dropped_while_the_worker_works(storm):
    _drop(storm)


def test_the_extension_can_be_dropped_while_the_worker_works(storm):
    conn = storm.connect()
    conn.execute("DROP EXTENSION turnstile CASCADE")
    conn.execute("CREATE EXTENSION turnstile")
    claim_next(conn, "another queue")
    conn.execute(PAST, [1])
    until(conn, conn.execute("SELECT id FROM turnstile.job").fetchone()[0], "available")


def test_the_worker_can_be_terminated(storm):
    conn = storm.connect()
    conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'turnstile upkeep'")
    last = conn.execute("SELECT max(id) FROM turnstile.job").fetchone()[0]
    until(conn, last, "available", lambda: conn.execute("SELECT pg_sleep(0.2)"))


def test_a_server_without_a_free_place_for_the_worker_says_so_and_goes_on():
    # The server's own launcher has one place, the notifier the other.
    with own_cluster("faults_overdue_full", max_worker_processes=2) as cluster, fresh_database() as database:
        conn = database.connect()
        claim_next(conn, "another queue")
        conn.execute(PAST, [1])
        conn.execute("SELECT pg_sleep(3.5)")
        assert cluster.log.count("no background worker is free for the upkeep of queues") == 1
        assert claim_next(conn).kind == "due"


QUEUES = 5_000


@pytest.fixture(scope="module")
def few_slots():
    """A cluster whose memory has slots for the times of 4,112 queues."""
    with own_cluster("faults_overdue", **{"turnstile.max_lanes": 64}), fresh_database() as database:
        conn = database.connect()
        claim_next(conn, "another queue")
        yield conn


def _schedule(conn, run_at: str) -> None:
    conn.execute("TRUNCATE turnstile.job")
    claim_next(conn, "another queue")
    conn.execute(
        "INSERT INTO turnstile.job (kind, queue, state, run_at)"
        " SELECT 'due', 'q' || n, 'scheduled', %s FROM generate_series(1, %s) n",
        [run_at, QUEUES],
    )


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_queue_without_a_slot_promotes_for_itself(few_slots, rebuilt):
    _schedule(few_slots, "2000-01-01")
    if rebuilt:
        few_slots.execute("SELECT turnstile.rebuild()")
    for number in (1, QUEUES // 2, QUEUES - 1, QUEUES):
        assert claim_next(few_slots, f"q{number}").queue == f"q{number}"
    assert few_slots.execute("SELECT * FROM turnstile.check()").fetchall() == []


def test_promote_finds_the_queues_without_a_slot(few_slots):
    _schedule(few_slots, "2000-01-01")
    promoted = few_slots.execute("SELECT turnstile.promote(%s)", [2 * QUEUES]).fetchone()[0]
    # The worker may have been faster with some.
    assert promoted > 0
    assert few_slots.execute("SELECT DISTINCT state FROM turnstile.job").fetchall() == [("available",)]


def test_queues_get_slots_once_there_are_some(few_slots):
    _schedule(few_slots, "2100-01-01")
    few_slots.execute("DELETE FROM turnstile.job WHERE queue <> %s", [f"q{QUEUES}"])
    few_slots.execute("UPDATE turnstile.job SET run_at = '2000-01-01'")
    until(few_slots, few_slots.execute("SELECT id FROM turnstile.job").fetchone()[0], "available")
    assert few_slots.execute("SELECT * FROM turnstile.check()").fetchall() == []
