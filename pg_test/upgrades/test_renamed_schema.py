"""The schema by another name: calls say what has happened, and not that the catalog is old."""

import contextlib

import pytest

from support.calls import call, claim_next, complete, enqueue
from support.errors import WRONG_STATE, refused

CALLS = {
    "enqueue": "SELECT away.enqueue('work')",
    "claim_next": "SELECT away.claim_next()",
    "check": "SELECT away.check()",
    "insert": "INSERT INTO away.job (kind, lane) VALUES ('work', 0)",
}


@contextlib.contextmanager
def _renamed(conn):
    conn.execute("ALTER SCHEMA turnstile RENAME TO away")
    yield
    conn.execute("ALTER SCHEMA away RENAME TO turnstile")


@pytest.mark.parametrize("statement", CALLS.values(), ids=CALLS.keys())
def test_each_call_names_the_schema(conn, other, statement):
    job = enqueue(conn)
    with _renamed(other):
        for session in (conn, other):
            with refused(WRONG_STATE) as caught:
                session.execute(statement)
            assert '"away"' in caught.value.diag.message_detail
            assert "ALTER SCHEMA" in caught.value.diag.message_hint
    run = claim_next(conn)
    assert run.id == job and complete(conn, run) is True
    assert call(conn, "check") == []


def test_a_caller_without_rights_is_told_as_well_whatever_its_search_path(conn, role):
    conn.execute(f"GRANT USAGE ON SCHEMA turnstile TO {role}; GRANT EXECUTE ON FUNCTION turnstile.claim_next TO {role}")
    conn.execute("CREATE TABLE public.pg_namespace (); CREATE TABLE public.pg_extension (); GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC")
    with _renamed(conn):
        conn.execute(f"SET ROLE {role}; SET search_path = public, pg_catalog")
        with refused(WRONG_STATE) as caught:
            conn.execute("SELECT away.claim_next()")
        assert '"away"' in caught.value.diag.message_detail
        conn.execute("RESET ROLE; RESET search_path")


def test_another_schema_in_its_place_changes_nothing_of_that(conn):
    with _renamed(conn):
        conn.execute("CREATE SCHEMA turnstile")
        with refused(WRONG_STATE) as caught:
            conn.execute("SELECT away.enqueue('work')")
        assert '"away"' in caught.value.diag.message_detail
        conn.execute("DROP SCHEMA turnstile")
