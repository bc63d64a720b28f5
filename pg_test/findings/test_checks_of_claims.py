"""Constraints of users and rows that others have locked: a claim does the same with and without the direct path."""

import psycopg
import pytest

from support.calls import claim_next, enqueue

NO_DIRECT_PATH = """
CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER look BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.look()
"""
LOCKED = "SELECT FROM turnstile.job WHERE kind = 'first' FOR {}"
STATES = "SELECT kind, state, metadata FROM turnstile.job ORDER BY id"


@pytest.fixture(params=["directly", "by statements"])
def jobs(request, conn):
    enqueue(conn, kind="first")
    enqueue(conn, kind="second")
    if request.param == "by statements":
        conn.execute(NO_DIRECT_PATH)
    return request.param


def _claimed(conn, **options) -> str | None:
    run = claim_next(conn, **options)
    return run and conn.execute("SELECT kind FROM turnstile.job WHERE id = %s", [run.id]).fetchone()[0]


def test_what_a_check_says_of_a_row_that_another_session_has_is_not_heard(conn, other, jobs):
    conn.execute("ALTER TABLE turnstile.job ADD CONSTRAINT users_check CHECK (kind <> 'first') NOT VALID")
    other.execute("BEGIN")
    other.execute(LOCKED.format("UPDATE"))
    assert _claimed(conn) == "second"
    other.execute("ROLLBACK")
    with pytest.raises(psycopg.errors.CheckViolation):
        claim_next(conn)


def test_a_check_that_changes_the_job_is_refused(conn, jobs):
    conn.execute("""
        CREATE FUNCTION public.changes(bigint, text) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            IF $2 = 'running' THEN UPDATE turnstile.job SET metadata = '{}' WHERE id = $1; END IF;
            RETURN true;
        END $$;
        ALTER TABLE turnstile.job ADD CONSTRAINT users_check CHECK (public.changes(id, state))
    """)
    with pytest.raises(psycopg.errors.TriggeredDataChangeViolation):
        claim_next(conn)
    assert conn.execute(STATES).fetchall() == [("first", "available", None), ("second", "available", None)]


def test_a_claim_that_changes_a_unique_column_waits_for_no_lock(conn, other):
    """An update of a column that a foreign key may refer to has to wait for who has locked the row FOR KEY SHARE."""
    enqueue(conn, kind="first")
    enqueue(conn, kind="second")
    conn.execute("CREATE UNIQUE INDEX ON turnstile.job (worker)")
    other.execute("BEGIN")
    other.execute(LOCKED.format("KEY SHARE"))
    conn.execute("SET statement_timeout = '5s'")
    assert _claimed(conn, worker="one") == "second"
    other.execute("ROLLBACK")
    assert _claimed(conn, worker="two") == "first"


@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE"])
def test_a_claim_of_what_others_have_locked_takes_no_transaction_id(conn, other, strength):
    enqueue(conn, kind="first")
    other.execute("BEGIN")
    other.execute(LOCKED.format(strength))
    conn.execute("BEGIN")
    assert claim_next(conn) is None
    assert conn.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() == (None,)
    conn.execute("COMMIT")
    other.execute("ROLLBACK")
    assert _claimed(conn) == "first"


@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"])
def test_a_lock_of_its_own_transaction_is_in_no_claims_way(conn, strength):
    enqueue(conn, kind="first")
    conn.execute("BEGIN")
    conn.execute(LOCKED.format(strength))
    assert _claimed(conn) == "first"
    conn.execute("COMMIT")
