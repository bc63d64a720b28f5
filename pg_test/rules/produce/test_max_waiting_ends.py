"""max_waiting across aborts, savepoints, TRUNCATE, rebuilds, restores and roles; how bounds hold is in test_max_waiting.py."""

import psycopg
import pytest
from psycopg import sql

from support.backlogs import FULL, JOB, bound, free, waiting
from support.calls import call, claim_next, enqueue, enqueue_times
from support.errors import refused
from support.settings import configure

INSERT = "INSERT INTO turnstile.job (kind, queue, tenant) VALUES ('work', 'mail', 'acme')"

ABORTS = {
    "ROLLBACK": lambda conn: conn.execute("ROLLBACK"),
    "an error": lambda conn: (pytest.raises(psycopg.Error, conn.execute, "SELECT 1/0"), conn.execute("COMMIT")),
    "a lost connection": lambda conn: conn.close(),
    "SIGTERM": None,
}
RIGHTS = ["INSERT ON turnstile.job", "USAGE ON ALL SEQUENCES IN SCHEMA turnstile"]
GONE = ("a lost connection", "SIGTERM")


@pytest.mark.parametrize("how", ABORTS)
def test_an_abort_gives_back(conn, other, db, how):
    bound(conn, 2)
    enqueue(conn, **JOB)
    producer = db.connect()
    pid = producer.info.backend_pid
    producer.execute("BEGIN")
    enqueue(producer, **JOB)
    with refused(FULL):
        enqueue(conn, **JOB)
    if ABORTS[how]:
        ABORTS[how](producer)
    else:
        conn.execute("SELECT pg_terminate_backend(%s)", [pid])
    is_there = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
    while how in GONE and conn.execute(is_there, [pid]).fetchone():
        pass
    enqueue(conn, **JOB)
    with refused(FULL):
        enqueue(other, **JOB)


def test_savepoints_give_back_what_is_rolled_back(conn, other):
    bound(conn, 4)
    conn.execute("BEGIN")
    enqueue(conn, **JOB)
    conn.execute("SAVEPOINT a")
    enqueue(conn, **JOB)
    conn.execute("SAVEPOINT b")
    enqueue(conn, **JOB)
    conn.execute("RELEASE b")
    assert free(other) == 1
    conn.execute("ROLLBACK TO a")
    assert free(other) == 3
    enqueue_times(conn, 2, **JOB)
    conn.execute("RELEASE a")
    assert free(other) == 1
    conn.execute("COMMIT")
    assert free(other) == 1


def test_an_exception_block_gives_back(conn, other):
    bound(conn, 3)
    conn.execute(
        "DO $$ BEGIN"
        "  FOR number IN 1 .. 10 LOOP"
        "    BEGIN"
        "      PERFORM turnstile.enqueue('work', queue => 'mail');"
        "      RAISE EXCEPTION 'no';"
        "    EXCEPTION WHEN raise_exception THEN END;"
        "  END LOOP;"
        "  FOR number IN 1 .. 10 LOOP"
        "    BEGIN"
        "      PERFORM turnstile.enqueue('work', queue => 'mail');"
        "    EXCEPTION WHEN configuration_limit_exceeded THEN END;"
        "  END LOOP;"
        "END $$"
    )
    assert waiting(conn) == 3
    assert free(other) == 0


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_truncate(conn, other, end):
    bound(conn, 2)
    enqueue_times(conn, 2, **JOB)
    conn.execute("BEGIN")
    conn.execute("TRUNCATE turnstile.job, turnstile.job_history")
    conn.execute(end)
    assert free(other) == (2 if end == "COMMIT" else 0)


def test_a_rebuild_counts_anew(conn, other):
    bound(conn, 3)
    enqueue_times(conn, 2, **JOB)
    conn.execute("BEGIN")
    enqueue(conn, **JOB)
    call(other, "rebuild")
    with refused(FULL):
        enqueue(other, **JOB)
    conn.execute("ROLLBACK")
    assert free(other) == 1


def test_a_count_leaves_out_nothing_that_is_under_way(conn, other, db):
    """The first job for a bound has all counted while others are in the middle of theirs."""
    enqueue_times(conn, 3, **JOB)
    producer, worker = db.connect(), db.connect()
    producer.execute("BEGIN")
    enqueue_times(producer, 2, **JOB)
    worker.execute("BEGIN")
    claim_next(worker, "mail")
    bound(conn, 6)
    assert free(other) == 3
    producer.execute("COMMIT")
    assert free(other) == 1
    worker.execute("COMMIT")
    assert free(other) == 2


def test_a_rebuild_leaves_numbers_that_are_right(conn):
    """Which turnstile.check() tells at the end of the test."""
    bound(conn, 5)
    configure(conn, "tenant", "*", max_waiting=3)
    for tenant in ("one", "two", "three"):
        enqueue_times(conn, 2, queue="other", tenant=tenant)
    enqueue_times(conn, 3, **JOB)
    call(conn, "rebuild")
    claim_next(conn, "mail")
    claim_next(conn, "other")
    call(conn, "cancel_many", queue="other")
    enqueue(conn, **JOB)
    assert free(conn) == 0
    enqueue_times(conn, 3, tenant="one")
    with refused(FULL):
        enqueue(conn, tenant="one")


def test_check_takes_no_places_of_other_sessions_for_lost(conn, other):
    bound(conn, 5)
    enqueue(conn, **JOB)
    conn.execute("BEGIN")
    enqueue(conn, **JOB)
    assert call(conn, "check") == call(other, "check") == []
    conn.execute("ROLLBACK")
    conn.execute("BEGIN")
    conn.execute("INSERT INTO turnstile.job (id, kind, queue) SELECT id, kind, queue FROM turnstile.job ON CONFLICT DO NOTHING")
    assert call(other, "check") == []
    conn.execute("COMMIT")


def test_a_serializable_producer_does_not_count_for_others(conn, other):
    bound(conn, 1)
    conn.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
    enqueue(conn, **JOB)
    conn.execute("COMMIT")
    with refused(FULL):
        enqueue(other, **JOB)
    with refused(FULL), conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        enqueue(conn, **JOB)


def test_where_no_producer_may_count_a_claim_does(conn, other):
    """All producers are serializable, where a pass over all jobs would make others fail."""
    other.execute("SET default_transaction_isolation = serializable")
    bound(conn, 2)
    enqueue_times(other, 4, **JOB)
    claim_next(conn, "mail")
    with refused(FULL) as caught:
        enqueue(other, **JOB)
    assert "3 waiting" in caught.value.diag.message_detail


def test_what_replays_another_server_is_not_refused(conn):
    bound(conn, 1)
    conn.execute("SET session_replication_role = replica")
    for _ in range(3):
        conn.execute(INSERT)
    conn.execute("SET session_replication_role = origin")
    with refused(FULL) as caught:
        enqueue(conn, **JOB)
    assert "3 waiting" in caught.value.diag.message_detail


def test_a_producer_learns_nothing_of_queues_that_are_not_its_own(conn, db):
    role = f"producer_{conn.info.backend_pid}"
    conn.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    try:
        conn.execute("SELECT turnstile.allow_producer(%s::regrole, '{own}')", [role])
        for right in RIGHTS:
            conn.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(right), sql.Identifier(role)))
        bound(conn, 1)
        configure(conn, "queue", "own", max_waiting=1)
        enqueue(conn, **JOB)
        producer = db.connect()
        producer.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            producer.execute(INSERT)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            enqueue(producer, **JOB)
        producer.execute("INSERT INTO turnstile.job (kind, queue) VALUES ('work', 'own')")
        # As a restore does.
        producer.execute("SET row_security = off; SET check_function_bodies = off")
        with refused(FULL):
            enqueue(producer, queue="own")
        with refused(FULL):
            producer.execute("INSERT INTO turnstile.job (kind, queue) VALUES ('work', 'own')")
        producer.close()
        conn.execute("SET row_security = off; SET check_function_bodies = off")
        with refused(FULL):
            enqueue(conn, queue="own")
    finally:
        conn.execute("SELECT turnstile.disallow(%s::regrole)", [role])
        for right in RIGHTS:
            conn.execute(sql.SQL("REVOKE {} FROM {}").format(sql.SQL(right), sql.Identifier(role)))
        conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
