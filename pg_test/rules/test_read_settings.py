"""What one connection has read of settings serves others, until it changes: a new connection knows what is set now."""

from contextlib import contextmanager

import pytest

from support.calls import call, claim_next, complete, enqueue
from support.errors import FULL, WRONG_STATE, refused


def _works_once(db):
    """A new connection does each thing once: what was set for the job, as it was seen."""
    conn = db.connect()
    job_id = enqueue(conn)
    job = conn.execute("SELECT max_attempts FROM turnstile.job WHERE id = %s", [job_id]).fetchone()
    run = claim_next(conn)
    lease = conn.execute("SELECT lease_expires_at - claimed_at FROM turnstile.job WHERE id = %s", [job_id]).fetchone()
    complete(conn, run)
    kept = conn.execute("SELECT count(*) FROM turnstile.job_history WHERE id = %s", [job_id]).fetchone()
    conn.close()
    return job[0], int(lease[0].total_seconds()), bool(kept[0])


@pytest.mark.parametrize("name", ["default", "*"])
def test_a_new_connection_knows_what_is_set_now(db, conn, name):
    assert [_works_once(db), _works_once(db)] == [(25, 300, True)] * 2
    call(conn, "set_queue", name=name, max_attempts=3, lease="7 minutes", keep_completed="0")
    assert [_works_once(db), _works_once(db)] == [(3, 420, False)] * 2
    call(conn, "set_queue", name=name, clear=["max_attempts", "lease", "keep_completed"])
    assert _works_once(db) == (25, 300, True)


def _queue_of_a_new_job(db) -> str:
    conn = db.connect()
    job_id = enqueue(conn, queue=None)
    found = conn.execute("SELECT queue FROM turnstile.job WHERE id = %s", [job_id]).fetchone()
    conn.close()
    return found[0]


def test_a_new_connection_knows_the_routes_that_are_there_now(db, conn):
    assert [_queue_of_a_new_job(db), _queue_of_a_new_job(db)] == ["default", "default"]
    call(conn, "set_route", pattern="work", queue="elsewhere")
    assert [_queue_of_a_new_job(db), _queue_of_a_new_job(db)] == ["elsewhere", "elsewhere"]
    conn.execute("DELETE FROM turnstile.route")
    assert _queue_of_a_new_job(db) == "default"


def test_a_new_connection_knows_the_bounds_that_are_there_now(db, conn):
    enqueue(db.connect())
    enqueue(db.connect())
    call(conn, "set_queue", name="default", max_waiting=2)
    for _ in range(2):
        with refused(FULL):
            enqueue(db.connect())
    call(conn, "set_queue", name="default", max_waiting=3)
    enqueue(db.connect())
    with refused(FULL):
        enqueue(db.connect())
    call(conn, "set_queue", name="default", clear=["max_waiting"])
    enqueue(db.connect())


@contextmanager
def _changed_unseen(conn, table: str, change: str):
    """No trigger tells of the change, and a rollback takes it back."""
    with conn.transaction(force_rollback=True):
        conn.execute(f"ALTER TABLE turnstile.{table} DISABLE TRIGGER ALL")
        conn.execute(change)
        yield


def test_settings_that_only_a_transaction_sees_are_not_told_to_others(db, conn):
    call(conn, "set_queue", name="another", max_attempts=9)
    with _changed_unseen(conn, "queue", "UPDATE turnstile.queue SET max_attempts = 3 WHERE name = '*'"):
        enqueue(conn)
    assert _works_once(db) == (25, 300, True)


def test_that_only_a_transaction_sees_no_routes_is_not_told_to_others(db, conn):
    call(conn, "set_route", pattern="work", queue="elsewhere")
    with _changed_unseen(conn, "route", "DELETE FROM turnstile.route"):
        enqueue(conn, queue=None)
    assert _queue_of_a_new_job(db) == "elsewhere"


# What is looked up by its name. The function tells for which library the catalog was made.
OBJECTS = {
    "job_id_seq": ("SEQUENCE", "", "CREATE SEQUENCE turnstile.job_id_seq", "42809"),
    "job_history": ("TABLE", "", "CREATE TABLE turnstile.job_history (LIKE turnstile.was)", "42809"),
    "catalog_version": (
        "FUNCTION",
        "()",
        "CREATE FUNCTION turnstile.catalog_version() RETURNS text LANGUAGE sql AS $$SELECT '0.2.0'$$",
        WRONG_STATE,
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_new_connection_knows_what_is_the_extensions_own(db, conn, name):
    kind, arguments, make, sqlstate = OBJECTS[name]
    for _ in range(2):
        assert [_works_once(db), _works_once(db)] == [(25, 300, True)] * 2
        conn.execute(f"ALTER {kind} turnstile.{name}{arguments} RENAME TO was")
        conn.execute(make)
        for _ in range(2):
            with refused(sqlstate):
                _works_once(db)
        conn.execute(f"DROP {kind} turnstile.{name}{arguments}")
        conn.execute(f"ALTER {kind} turnstile.was{arguments} RENAME TO {name}")
    assert _works_once(db) == (25, 300, True)


def test_what_only_a_transaction_makes_the_extensions_own_is_not_told_to_others(db, conn):
    assert _works_once(db) == (25, 300, True)
    conn.execute("CREATE SEQUENCE turnstile.another")
    swap = "ALTER SEQUENCE turnstile.job_id_seq RENAME TO was; ALTER SEQUENCE turnstile.another RENAME TO job_id_seq"
    with conn.transaction(force_rollback=True):
        conn.execute("ALTER EXTENSION turnstile ADD SEQUENCE turnstile.another")
        conn.execute(swap)
        enqueue(conn)
    conn.execute(swap)
    with refused("42809"):
        _works_once(db)
    conn.execute("DROP SEQUENCE turnstile.job_id_seq; ALTER SEQUENCE turnstile.was RENAME TO job_id_seq")
