"""Databases: each has jobs and slots of its own; dropping and creating the extension starts from nothing."""

import psycopg
import pytest
from psycopg import sql

from support import rows
from support.calls import claim, claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.database import fresh_database, server
from support.settings import configure


@pytest.fixture
def elsewhere():
    """A connection to a second database with the extension."""
    with fresh_database() as database:
        yield database.connect()


def test_two_databases_do_not_see_each_others_jobs(conn, elsewhere):
    here, there = enqueue_times(conn, 2), enqueue(elsewhere)
    assert ids(claim_all(elsewhere)) == [there]
    assert ids(claim_all(conn)) == here


@pytest.mark.parametrize("encoding", ["EUC_JP", "LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_has_the_same_comments(conn, encoding):
    said = "SELECT description FROM pg_description JOIN pg_class ON pg_class.oid = objoid WHERE relname = 'endpoint' ORDER BY objsubid"
    with fresh_database(encoding=encoding) as database:
        own = database.connect()
        own.execute("CREATE EXTENSION turnstile; SET client_encoding = 'UTF8'")
        assert own.execute(said).fetchall() == conn.execute(said).fetchall()


def test_the_extension_is_made_without_temporary_files():
    with fresh_database(extension=False) as database:
        database.connect().execute("SET temp_file_limit = 0; SET work_mem = '64kB'; CREATE EXTENSION turnstile")


def test_two_databases_do_not_share_limits_or_slots(conn, elsewhere):
    configure(conn, "tenant", "acme", slots=1)
    for connection in (conn, elsewhere):
        enqueue_times(connection, 3, tenant="acme", session="chat-1")
        enqueue_times(connection, 3, tenant="acme")
    assert len(claim_all(conn)) == 1
    assert len(claim_all(elsewhere)) == 4


def test_two_databases_do_not_share_ends_of_runs(conn, elsewhere):
    configure(conn, "queue", "default", max_running=1)
    configure(elsewhere, "queue", "default", max_running=1)
    for connection in (conn, elsewhere):
        enqueue_times(connection, 2)
    run, _ = claim_next(conn), claim_next(elsewhere)
    complete(conn, run)
    assert claim_next(elsewhere) is None
    assert claim_next(conn) is not None


def test_the_extension_created_again_starts_empty(db, conn):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 3, tenant="acme")
    claim_next(conn)
    conn.execute("DROP EXTENSION turnstile CASCADE")
    conn.execute("CREATE EXTENSION turnstile")
    for connection in (conn, db.connect()):
        assert claim(connection, ["default"], 10) == []
    assert rows.counts(conn) == {}
    enqueued = enqueue_times(conn, 2, tenant="acme")
    assert ids(claim_all(conn)) == enqueued, "the limit and the slot held are gone with the tables"


def test_a_drop_of_the_extension_rolled_back_loses_nothing(conn):
    configure(conn, "tenant", "acme", slots=1)
    enqueued = enqueue_times(conn, 3, tenant="acme")
    run = claim_next(conn)
    conn.execute("BEGIN")
    conn.execute("DROP EXTENSION turnstile CASCADE")
    conn.execute("ROLLBACK")
    assert claim_next(conn) is None
    assert complete(conn, run)
    assert claim_next(conn).id == enqueued[1]


def test_a_creation_of_the_extension_rolled_back_can_be_repeated():
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute("BEGIN")
        conn.execute("CREATE EXTENSION turnstile")
        enqueue(conn)
        conn.execute("ROLLBACK")
        conn.execute("CREATE EXTENSION turnstile")
        assert claim_next(conn) is None
        job_id = enqueue(conn)
        assert claim_next(conn).id == job_id


def test_databases_made_and_dropped_one_after_another_each_start_empty():
    """More than the server keeps schedulers for: those of dropped databases are used again, with nothing in them."""
    for _ in range(10):
        with fresh_database() as database:
            conn = database.connect()
            assert claim_next(conn) is None
            configure(conn, "tenant", "acme", slots=1)
            enqueued = enqueue_times(conn, 2, tenant="acme")
            assert ids(claim_all(conn)) == enqueued[:1]


def test_a_database_that_is_not_dropped_after_all_goes_on(db, conn):
    """The server asks last whether somebody is connected: open claims hold their room, and statistics are there."""
    configure(conn, "queue", "default", max_running=1)
    enqueue_times(conn, 2)
    claiming = db.connect(autocommit=False)
    run = claim_next(claiming)
    with server() as admin, pytest.raises(psycopg.errors.ObjectInUse):
        admin.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(db.name)))
    assert claim_next(conn) is None
    claiming.commit()
    assert claim_next(conn) is None
    complete(conn, run)
    assert conn.execute("SELECT enqueued, started, completed FROM turnstile.stat_queue").fetchone() == (2, 1, 1)
