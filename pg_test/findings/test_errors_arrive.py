"""An error that a user's trigger raises, or a constraint of his, arrives through every call as it does from plain SQL."""

import psycopg
import pytest

from faults.witness import is_sound
from findings.verbs import CLAIMS, ENDS, OTHERS, PRODUCERS
from support import rows
from support.calls import call, claim_next, complete, discard, enqueue, enqueue_times

CALLS = {name: verb for name, verb in (PRODUCERS | CLAIMS | ENDS | OTHERS).items() if "limit" not in name and name != "check"}
# These write no live job: the key is held, a host is slowed in a table of its own, and what is deleted has finished.
del CALLS["enqueue with a key"], CALLS["report_endpoint"], CALLS["delete_many"]
FINISHES = ["complete", "complete_many", "complete_and_claim_next", "complete_and_claim", "fail for good", "cancel", "discard", "cancel_many", "discard_many"]

# Of a user's own, and some that calls raise themselves.
SQLSTATES = ["U0001", "P0001", "23505", "55000", "P0002", "0A000"]
FEW = ["enqueue", "enqueue_many with keys", "claim_next", "complete", "complete_many", "fail", "heartbeat"]

RAISE = """CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'the message' USING ERRCODE = '{}', DETAIL = 'the detail', HINT = 'the hint',
        SCHEMA = 'a schema', TABLE = 'a table', COLUMN = 'a column', DATATYPE = 'a type', CONSTRAINT = 'a constraint';
    END $$"""
FIELDS = {
    "message_primary": "the message",
    "message_detail": "the detail",
    "message_hint": "the hint",
    "schema_name": "a schema",
    "table_name": "a table",
    "column_name": "a column",
    "datatype_name": "a type",
    "constraint_name": "a constraint",
}


def _said(error) -> dict:
    return {field: getattr(error.diag, field) for field in FIELDS}


def _arrives(conn, other, verb, subject, sqlstate, trigger, table) -> None:
    before = rows.everything(other)
    with pytest.raises(psycopg.Error) as caught:
        verb.call(conn, subject)
    assert caught.value.sqlstate == sqlstate, caught.value
    assert _said(caught.value) == FIELDS
    assert rows.everything(other) == before
    assert call(other, "check") == []
    other.execute(f"DROP TRIGGER {trigger} ON {table}")
    assert verb.call(conn, subject) == verb.answer


@pytest.mark.parametrize(
    ("verb", "sqlstate"),
    [*[(verb, "TS001") for verb in CALLS], *[(verb, sqlstate) for verb in FEW for sqlstate in SQLSTATES]],
)
def test_the_error_of_a_trigger_of_the_jobs(conn, other, verb, sqlstate):
    verb = CALLS[verb]
    subject = verb.prepare(conn)
    other.execute(RAISE.format(sqlstate))
    other.execute(
        "CREATE TRIGGER a_refuse BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()"
    )
    _arrives(conn, other, verb, subject, sqlstate, "a_refuse", "turnstile.job")


@pytest.mark.parametrize("timing", ["AFTER {} FOR EACH ROW", "BEFORE {} FOR EACH STATEMENT", "AFTER {} FOR EACH STATEMENT"])
@pytest.mark.parametrize("verb", ["enqueue", "enqueue_many", "claim_next", "claim", "complete", "complete_many", "fail", "release"])
def test_the_error_of_a_trigger_at_any_time(conn, other, verb, timing):
    verb = CALLS[verb]
    subject = verb.prepare(conn)
    other.execute(RAISE.format("TS001"))
    timing = timing.format("INSERT OR UPDATE OR DELETE ON turnstile.job")
    other.execute(f"CREATE TRIGGER a_refuse {timing} EXECUTE FUNCTION public.refuse()")
    _arrives(conn, other, verb, subject, "TS001", "a_refuse", "turnstile.job")


@pytest.mark.parametrize("timing", ["BEFORE INSERT ON {} FOR EACH ROW", "AFTER INSERT ON {} FOR EACH ROW", "AFTER INSERT ON {} FOR EACH STATEMENT"])
@pytest.mark.parametrize("verb", FINISHES)
def test_the_error_of_a_trigger_of_the_history(conn, other, verb, timing):
    verb = CALLS[verb]
    subject = verb.prepare(conn)
    other.execute(RAISE.format("TS001"))
    other.execute(f"CREATE TRIGGER a_refuse {timing.format('turnstile.job_history')} EXECUTE FUNCTION public.refuse()")
    _arrives(conn, other, verb, subject, "TS001", "a_refuse", "turnstile.job_history")


def test_the_error_of_a_trigger_on_what_is_deleted(conn, other):
    verb = OTHERS["delete_many"]
    subject = verb.prepare(conn)
    other.execute(RAISE.format("TS001"))
    other.execute("CREATE TRIGGER a_refuse BEFORE DELETE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION public.refuse()")
    _arrives(conn, other, verb, subject, "TS001", "a_refuse", "turnstile.job_history")


def test_the_error_of_a_trigger_that_is_put_off_to_the_commit(conn, other):
    other.execute(RAISE.format("TS001"))
    other.execute(
        "CREATE CONSTRAINT TRIGGER z_refuse AFTER INSERT OR UPDATE OR DELETE ON turnstile.job INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION public.refuse()"
    )
    with pytest.raises(psycopg.Error) as caught:
        enqueue(conn)
    assert caught.value.sqlstate == "TS001"
    assert _said(caught.value) == FIELDS
    is_sound(other)


def test_where_a_trigger_has_raised_is_said(conn, other):
    """The context names the trigger's function and line."""
    enqueue(conn)
    other.execute(RAISE.format("TS001"))
    other.execute("CREATE TRIGGER a_refuse BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()")
    with pytest.raises(psycopg.Error) as caught:
        claim_next(conn)
    assert "PL/pgSQL function public.refuse() line" in caught.value.diag.context


# Of a class that is otherwise that of warnings.
QUIET = "01000"


def test_an_error_is_not_taken_for_that_of_an_earlier_call(conn, other):
    """It has the same message."""
    other.execute(RAISE.format("TS001"))
    other.execute("CREATE TRIGGER a_refuse BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()")
    for sqlstate in ("TS001", QUIET, "TS001"):
        other.execute(RAISE.format(sqlstate).replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
        with pytest.raises(psycopg.Error) as caught:
            enqueue(conn)
        assert caught.value.sqlstate == sqlstate
        assert _said(caught.value) == FIELDS
    is_sound(other)


def test_an_error_is_not_taken_for_one_that_was_caught_before_it(conn, other):
    catches = "BEGIN BEGIN RAISE EXCEPTION 'the message' USING ERRCODE = 'TS001'; EXCEPTION WHEN SQLSTATE 'TS001' THEN NULL; END;"
    other.execute(RAISE.format(QUIET).replace("BEGIN", catches, 1))
    other.execute("CREATE TRIGGER a_refuse BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()")
    with pytest.raises(psycopg.Error) as caught:
        enqueue(conn)
    assert caught.value.sqlstate == QUIET
    assert _said(caught.value) == FIELDS
    is_sound(other)


def test_a_handler_of_a_user_catches_it_by_its_code(conn, other):
    enqueue(conn)
    other.execute(RAISE.format("TS001"))
    other.execute("CREATE TRIGGER a_refuse BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()")
    conn.execute("""DO $$ BEGIN PERFORM turnstile.claim_next();
        EXCEPTION WHEN SQLSTATE 'TS001' THEN PERFORM turnstile.enqueue('caught'); END $$""")
    assert other.execute("SELECT count(*) FROM turnstile.job WHERE kind = 'caught'").fetchone() == (1,)
    is_sound(other)


# What a user adds, what breaks it, and what the error says of it: sqlstate, schema, table, column, constraint.
CONSTRAINTS = {
    "unique index": (
        "CREATE UNIQUE INDEX own ON turnstile.job (kind)", lambda conn, run: enqueue(conn), ("23505", "turnstile", "job", None, "own"),
    ),
    "unique index at a claim": (
        "CREATE UNIQUE INDEX own ON turnstile.job (kind) WHERE state = 'running'", lambda conn, run: claim_next(conn),
        ("23505", "turnstile", "job", None, "own"),
    ),
    "exclusion": (
        "ALTER TABLE turnstile.job ADD CONSTRAINT own EXCLUDE (attempt WITH =) WHERE (state = 'running')",
        lambda conn, run: claim_next(conn), ("23P01", "turnstile", "job", None, "own"),
    ),
    "foreign key": (
        "CREATE TABLE public.kind (kind text PRIMARY KEY); INSERT INTO public.kind VALUES ('other');"
        " ALTER TABLE turnstile.job ADD CONSTRAINT own FOREIGN KEY (kind) REFERENCES public.kind NOT VALID",
        lambda conn, run: enqueue(conn), ("23503", "turnstile", "job", None, "own"),
    ),
    "foreign key of another table": (
        "CREATE TABLE public.note (job bigint CONSTRAINT own REFERENCES turnstile.job); INSERT INTO public.note SELECT id FROM turnstile.job",
        complete, ("23503", "public", "note", None, "own"),
    ),
    "foreign key of another table, by plain SQL": (
        "CREATE TABLE public.note (job bigint CONSTRAINT own REFERENCES turnstile.job); INSERT INTO public.note SELECT id FROM turnstile.job",
        discard, ("23503", "public", "note", None, "own"),
    ),
    "not null": (
        "ALTER TABLE turnstile.job ALTER COLUMN tenant SET DEFAULT 'x', ADD CONSTRAINT filled CHECK (tenant IS NOT NULL) NOT VALID",
        lambda conn, run: enqueue(conn), ("23514", "turnstile", "job", None, "filled"),
    ),
    "domain": (
        "CREATE DOMAIN public.short AS text CONSTRAINT own CHECK (length(VALUE) < 3);"
        " CREATE FUNCTION public.make_short() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE s public.short; BEGIN s := NEW.kind; RETURN NEW; END $$;"
        " CREATE TRIGGER a_short BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.make_short()",
        lambda conn, run: enqueue(conn), ("23514", "public", None, None, "own"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CONSTRAINTS.values(), ids=CONSTRAINTS.keys())
def test_a_constraint_is_named(conn, other, case):
    definition, break_it, expected = case
    enqueue_times(conn, 1 if "(kind)" in definition and "WHERE" not in definition and "FOREIGN" not in definition else 2)
    run = claim_next(conn)
    other.execute(definition)
    before = rows.everything(other)
    with pytest.raises(psycopg.errors.IntegrityError) as caught:
        break_it(conn, run)
    diag = caught.value.diag
    assert (diag.sqlstate, diag.schema_name, diag.table_name, diag.column_name, diag.constraint_name) == expected
    assert rows.everything(other) == before
    is_sound(other)


def test_each_of_calls_in_each_other_adds_its_context_once(conn):
    conn.execute("""
        CREATE FUNCTION public.more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.priority = 5 THEN RAISE EXCEPTION 'deep enough'; END IF;
            PERFORM turnstile.enqueue('work', priority => NEW.priority + 1);
            RETURN NULL;
        END $$;
        CREATE TRIGGER more AFTER INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.more()""")
    with pytest.raises(psycopg.errors.RaiseException) as raised:
        enqueue(conn, priority=1)
    assert raised.value.diag.context.count("function public.more()") == 5
