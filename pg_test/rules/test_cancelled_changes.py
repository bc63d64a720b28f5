"""A BEFORE trigger of a user that returns NULL cancels what a call would change. Nothing that was not done may be reported."""

import psycopg
import pytest

from support.calls import claim_next, complete, complete_and_claim_next, enqueue, enqueue_many

KEEP_OFF = (
    "CREATE FUNCTION keep_off() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN IF OLD.kind = 'untouchable' THEN RETURN NULL; END IF; RETURN coalesce(NEW, OLD); END $$"
)


def _cancel(conn, operation):
    conn.execute("CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    conn.execute(f"CREATE TRIGGER a_cancel BEFORE {operation} ON turnstile.job FOR EACH ROW EXECUTE FUNCTION cancel()")


@pytest.mark.parametrize("unique_key", [None, "key"])
def test_a_job_that_was_not_added_has_no_id(conn, unique_key):
    _cancel(conn, "INSERT")
    with pytest.raises(psycopg.errors.TriggeredActionException):
        enqueue(conn, unique_key=unique_key)
    with pytest.raises(psycopg.errors.TriggeredActionException):
        enqueue_many(conn, [{"kind": "a"}, {"kind": "b", "unique_key": unique_key}])
    assert claim_next(conn) is None


def test_a_job_that_was_not_set_running_is_passed_over(conn):
    conn.execute(KEEP_OFF)
    conn.execute("CREATE TRIGGER a_keep_off BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION keep_off()")
    for kind in ("untouchable", "first", "untouchable", "second"):
        enqueue(conn, kind=kind)
    first = claim_next(conn)
    second = complete_and_claim_next(conn, first)
    assert (first.kind, second.kind) == ("first", "second")
    assert claim_next(conn) is None
    conn.execute("DROP TRIGGER a_keep_off ON turnstile.job")
    assert claim_next(conn).kind == "untouchable"


@pytest.mark.parametrize("how", ["complete", "complete_many"])
def test_a_run_that_was_not_deleted_has_not_ended(conn, how):
    enqueue(conn)
    run = claim_next(conn)
    _cancel(conn, "DELETE")
    calls = {
        "complete": ("SELECT turnstile.complete(%s, %s)", (run.id, run.attempt)),
        "complete_many": ("SELECT turnstile.complete_many(%s, %s)", ([run.id], [run.attempt])),
    }
    with pytest.raises(psycopg.errors.TriggeredActionException):
        conn.execute(*calls[how])
    assert conn.execute("SELECT count(*) FROM turnstile.job_history").fetchone() == (0,)
    conn.execute("DROP TRIGGER a_cancel ON turnstile.job")
    assert complete(conn, run)
