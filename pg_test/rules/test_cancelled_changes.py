"""A BEFORE trigger of a user that returns NULL cancels what a call would change. Nothing that was not done may be reported."""

import psycopg
import pytest

from support.calls import Run, cancel, claim_next, complete, complete_and_claim_next, discard, enqueue, enqueue_many, retry
from support.holders import WINDOW, ask
from support.sleepers import Sleeper, await_asleep, woken_by_the_end

KEEP_OFF = (
    "CREATE FUNCTION keep_off() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN IF OLD.kind = 'untouchable' THEN RETURN NULL; END IF; RETURN coalesce(NEW, OLD); END $$"
)


def _cancel(conn, operation, table="job"):
    conn.execute("CREATE OR REPLACE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    conn.execute(f"CREATE TRIGGER a_cancel BEFORE {operation} ON turnstile.{table} FOR EACH ROW EXECUTE FUNCTION cancel()")


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


def test_a_claim_that_waits_does_not_stay_at_a_job_that_was_not_set_running(conn, other):
    conn.execute(KEEP_OFF)
    conn.execute("CREATE TRIGGER a_keep_off BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION keep_off()")
    enqueue(conn, kind="untouchable")
    assert claim_next(conn, wait="300 milliseconds") is None
    with woken_by_the_end(other, [Sleeper(conn, "SELECT kind FROM turnstile.claim_next(wait => '60 s')")]) as [sleeper]:
        await_asleep(other, 1)
        enqueue(other, kind="usual")
        assert sleeper.returned().rows == [("usual",)]


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


# ---- Unique keys ---------------------------------------------------------------------------------------

# What keeps a key from being taken for ever, whoever waits.
IN_THE_WAY = {
    "insertion cancelled": lambda conn: _cancel(conn, "INSERT", "unique_key"),
    "deletion cancelled": lambda conn: _cancel(conn, "DELETE", "unique_key"),
    "another key written": lambda conn: conn.execute(
        "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.key := 'another'; RETURN NEW; END $$;"
        " CREATE TRIGGER a_other BEFORE INSERT ON turnstile.unique_key FOR EACH ROW EXECUTE FUNCTION other();"
        " INSERT INTO turnstile.unique_key VALUES ('', 'another', 1, 0, 'until_executed'), ('', 'another', 2, 0, 'until_executed')"
    ),
    "unique index": lambda conn: conn.execute(
        "INSERT INTO turnstile.unique_key VALUES ('acme', 'other', 1, 0, 'until_expired');"
        " CREATE UNIQUE INDEX one ON turnstile.unique_key ((true))"
    ),
}  # fmt: skip
TAKES = {
    "enqueue": lambda conn, run: enqueue(conn, unique_key="k"),
    "enqueue_many": lambda conn, run: enqueue_many(conn, [{"kind": "a", "unique_key": "b"}, {"kind": "a", "unique_key": "k"}]),
    "retry": lambda conn, run: retry(conn, run.id),
    "retry_many": lambda conn, run: conn.execute("SELECT turnstile.retry_many(kind => 'work')").fetchone()[0],
}  # fmt: skip


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES.keys())
@pytest.mark.parametrize("obstacle", IN_THE_WAY.values(), ids=IN_THE_WAY.keys())
def test_a_key_that_cannot_be_taken_is_not_waited_for(conn, obstacle, take):
    enqueue(conn, unique_key="k")
    run = claim_next(conn)
    discard(conn, run)
    if obstacle is IN_THE_WAY["unique index"]:
        conn.execute("DELETE FROM turnstile.unique_key")
    obstacle(conn)
    before = conn.execute("SELECT * FROM turnstile.unique_key ORDER BY key, generation").fetchall()
    with pytest.raises(psycopg.errors.TriggeredActionException):
        take(conn, run)
    assert conn.execute("SELECT * FROM turnstile.unique_key ORDER BY key, generation").fetchall() == before
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    conn.execute("DROP TRIGGER IF EXISTS a_cancel ON turnstile.unique_key; DROP TRIGGER IF EXISTS a_other ON turnstile.unique_key")
    conn.execute("DROP INDEX IF EXISTS turnstile.one")
    take(conn, run)
    assert claim_next(conn) is not None


def test_a_job_that_was_not_added_does_not_hold_its_key(conn):
    """Nor can its key be given back, which it would hold by its window alone."""
    _cancel(conn, "INSERT")
    _cancel(conn, "DELETE", "unique_key")
    for _ in range(2):
        with pytest.raises(psycopg.errors.TriggeredActionException):
            enqueue(conn, unique_key="k", unique_mode="until_expired", **WINDOW["until_expired"])


# ---- Policies ------------------------------------------------------------------------------------------

OWNED_BY = """DO $$
    DECLARE
        command text;
    BEGIN
        FOR command IN
            SELECT format('ALTER %s %s OWNER TO {role}', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
            FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v')
            UNION ALL
            SELECT format('ALTER ROUTINE %s OWNER TO {role}', oid::regprocedure)
            FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
        LOOP
            EXECUTE command;
        END LOOP;
        ALTER SCHEMA turnstile OWNER TO {role};
        ALTER SCHEMA turnstile_internal OWNER TO {role};
    END $$"""
CHANGES = {
    "enqueue with the key of one to be kept": (
        lambda conn: ask(conn, "until_executing"), lambda conn, job_id: ask(conn, "until_executing"),
    ),
    "enqueue with the key of one to be replaced": (lambda conn: ask(conn, "replace"), lambda conn, job_id: ask(conn, "replace")),
    "cancel": (enqueue, cancel),
    "discard": (enqueue, lambda conn, job_id: conn.execute("SELECT turnstile.discard(%s)", [job_id])),
    "retry": (lambda conn: enqueue(conn, run_at="2100-01-01"), retry),
    "complete": (lambda conn: enqueue(conn) and claim_next(conn).id, lambda conn, job_id: complete(conn, Run(job_id, 1))),
}  # fmt: skip


@pytest.fixture
def owner(db, role):
    """A role that policies concern, and that owns the extension's tables and functions."""
    with db.connect() as admin:
        admin.execute(OWNED_BY.format(role=role))
    yield role
    with db.connect() as admin:
        admin.execute(f"REASSIGN OWNED BY {role} TO CURRENT_USER")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_job_that_its_owner_may_read_and_not_change(conn, other, owner, change):
    prepare, make = change
    job_id = prepare(conn)
    other.execute("CREATE POLICY one ON turnstile.job FOR SELECT USING (true); CREATE POLICY two ON turnstile.job FOR INSERT WITH CHECK (true)")
    other.execute("ALTER TABLE turnstile.job ENABLE ROW LEVEL SECURITY; ALTER TABLE turnstile.job FORCE ROW LEVEL SECURITY")
    before = other.execute("SELECT job::text FROM turnstile.job").fetchall()
    with pytest.raises(psycopg.errors.TriggeredActionException):
        make(conn, job_id)
    assert other.execute("SELECT job::text FROM turnstile.job").fetchall() == before
    other.execute("ALTER TABLE turnstile.job NO FORCE ROW LEVEL SECURITY")
    make(conn, job_id)
