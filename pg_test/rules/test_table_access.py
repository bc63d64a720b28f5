"""Single calls change rows without a plan; what hangs on the tables works as with any DML."""

from pathlib import Path

import psycopg
import pytest

from support.calls import claim_next, complete, enqueue
from support.modules import need_module

TODAY = (
    "SELECT partition::text, begins::text, ends::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends"
)


def _log_of(conn):
    return [tuple(row) for row in conn.execute("SELECT what, at FROM log ORDER BY number")]


@pytest.fixture
def logged(conn):
    conn.execute("CREATE TABLE log (number bigserial, what text, at text)")
    conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.log (what, at)"
        " VALUES (TG_OP || ' ' || TG_WHEN || ' ' || TG_LEVEL, TG_TABLE_NAME); RETURN coalesce(NEW, OLD); END $$"
    )
    for level in ("ROW", "STATEMENT"):
        for when in ("BEFORE", "AFTER"):
            conn.execute(
                f"CREATE TRIGGER note_{when}_{level} {when} INSERT OR UPDATE OR DELETE ON turnstile.job"
                f" FOR EACH {level} EXECUTE FUNCTION note()"
            )
    return conn


@pytest.mark.parametrize(
    ("call", "operation"), [("enqueue", "INSERT"), ("claim", "UPDATE"), ("complete", "DELETE")], ids=lambda value: value
)
def test_all_triggers_of_a_user_fire_in_order(logged, call, operation):
    conn = logged
    enqueue(conn)
    if call != "enqueue":
        conn.execute("TRUNCATE log")
        run = claim_next(conn)
    if call == "complete":
        conn.execute("TRUNCATE log")
        complete(conn, run)
    order = ["BEFORE STATEMENT", "BEFORE ROW", "AFTER ROW", "AFTER STATEMENT"]
    assert _log_of(conn) == [(f"{operation} {moment}", "job") for moment in order]


def test_a_trigger_may_change_the_row(conn):
    conn.execute(
        "CREATE FUNCTION rename() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.tenant := 'changed';"
        " NEW.payload := '{\"by\": \"trigger\"}'; RETURN NEW; END $$"
    )
    conn.execute("CREATE TRIGGER a_rename BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION rename()")
    enqueue(conn, tenant="acme")
    run = claim_next(conn)
    assert (run.tenant, run.payload) == ("changed", {"by": "trigger"})


def test_a_call_within_a_trigger_of_another_table(conn):
    conn.execute("CREATE TABLE orders (id int)")
    conn.execute(
        "CREATE FUNCTION ordered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM turnstile.enqueue('order');"
        " PERFORM turnstile.complete(id, attempt) FROM turnstile.claim_next(); RETURN NULL; END $$"
    )
    conn.execute("CREATE TRIGGER ordered AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION ordered()")
    enqueue(conn, kind="first")
    conn.execute("INSERT INTO orders VALUES (1), (2)")
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'available'").fetchone() == (2,)
    assert conn.execute("SELECT kind FROM turnstile.job_history").fetchall() == [("first",)]


def test_a_large_payload_goes_through_all_of_it(conn):
    large = conn.execute(
        "SELECT jsonb_build_object('text', string_agg(md5(n::text), '')) FROM generate_series(1, 20000) n"
    ).fetchone()[0]
    enqueue(conn, payload=large)
    run = claim_next(conn)
    assert run.payload == large
    conn.execute("SELECT turnstile.complete(%s, %s, %s::jsonb)", (run.id, run.attempt, '{"done": true}'))
    conn.execute("VACUUM turnstile.job")
    assert conn.execute("SELECT payload, result FROM turnstile.job_history").fetchall() == [(large, {"done": True})]


def test_a_partition_with_its_columns_in_another_order(conn):
    """As a dump makes it, or a table that a column was dropped from."""
    today, begins, ends = conn.execute(TODAY).fetchone()
    conn.execute(f"DROP TABLE {today}")
    conn.execute("CREATE TABLE public.other_order (gone int, result jsonb, LIKE turnstile.job)".replace(", result jsonb", ""))
    conn.execute("ALTER TABLE public.other_order DROP COLUMN gone, DROP COLUMN waits_for")
    conn.execute("ALTER TABLE public.other_order ADD COLUMN result jsonb, ADD COLUMN finished_at timestamptz NOT NULL")
    conn.execute(
        f"ALTER TABLE turnstile.job_history ATTACH PARTITION public.other_order FOR VALUES FROM ('{begins}') TO ('{ends}')"
    )
    job = enqueue(conn, kind="moved", payload={"a": 1})
    run = claim_next(conn)
    complete(conn, run)
    found = conn.execute("SELECT id, kind, payload, state, finished_at IS NOT NULL FROM public.other_order").fetchall()
    assert found == [(job, "moved", {"a": 1}, "completed", True)]


def test_a_row_that_a_trigger_moves_to_another_day_is_refused(conn):
    today, *_ = conn.execute(TODAY).fetchone()
    conn.execute(
        "CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN NEW.finished_at := NEW.finished_at + interval '3 days'; RETURN NEW; END $$"
    )
    conn.execute(f"CREATE TRIGGER move BEFORE INSERT ON {today} FOR EACH ROW EXECUTE FUNCTION move()")
    enqueue(conn)
    run = claim_next(conn)
    with pytest.raises(psycopg.errors.CheckViolation):
        complete(conn, run)
    conn.execute(f"DROP TRIGGER move ON {today}")
    assert complete(conn, run)


def test_indexes_have_each_row_that_meets_their_condition(conn):
    need_module(conn, "amcheck")
    today, *_ = conn.execute(TODAY).fetchone()
    for condition in ("", "DROP INDEX turnstile.job_owner_idx; CREATE INDEX job_owner_idx ON turnstile.job (id) WHERE kind IS NOT NULL"):
        # An index of the same name, with another condition.
        conn.execute(condition)
        for _ in range(3):
            enqueue(conn)
        complete(conn, claim_next(conn))
        claim_next(conn)
        conn.execute("SELECT turnstile.enqueue('later', run_at => now() + interval '1 day')")
        conn.execute(
            "SELECT bt_index_check(index.indexrelid, heapallindexed => true) FROM pg_index AS index JOIN pg_class AS class"
            " ON class.oid = index.indexrelid JOIN pg_am ON pg_am.oid = class.relam"
            " WHERE index.indrelid = ANY (%s::regclass[]) AND pg_am.amname = 'btree'",
            [["turnstile.job", today]],
        )


def test_the_function_in_the_condition_of_a_users_index_may_be_replaced(conn):
    create = "CREATE OR REPLACE FUNCTION is_wanted(text) RETURNS boolean IMMUTABLE LANGUAGE sql AS"
    conn.execute(f"{create} $$ SELECT $1 = 'wanted' $$")
    conn.execute("CREATE UNIQUE INDEX one_wanted ON turnstile.job (kind) WHERE is_wanted(kind)")
    enqueue(conn, kind="wanted")
    conn.execute(f"{create} $$ SELECT false $$")
    conn.execute("REINDEX INDEX turnstile.one_wanted")
    enqueue(conn, kind="wanted")


def test_a_new_connection_does_not_load_the_compiler(db):
    """Just-in-time compilation of the first statements cost each new connection more than a hundred calls."""
    conn = db.connect()
    enqueue(conn)
    complete(conn, claim_next(conn))
    maps = Path(f"/proc/{conn.info.backend_pid}/maps").read_text()
    assert "turnstile.so" in maps
    assert "llvmjit" not in maps
