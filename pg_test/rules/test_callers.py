"""Callers: the functions mean the same from a DO block, a trigger, a subquery, a cursor or a prepared statement."""

import psycopg
import pytest

from support import rows
from support.calls import claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.settings import configure


def test_a_do_block_runs_a_whole_job(conn):
    conn.execute("""
        DO $$
        DECLARE job turnstile.claimed_job;
        BEGIN
            PERFORM turnstile.enqueue('work', tenant => 'acme');
            COMMIT;
            SELECT * INTO STRICT job FROM turnstile.claim_next();
            IF NOT turnstile.complete(job.id, job.attempt) THEN RAISE EXCEPTION 'not completed'; END IF;
        END $$""")
    assert rows.counts(conn) == {"completed": 1}


def test_a_do_block_that_catches_an_error_undoes_what_it_caught(conn):
    configure(conn, "queue", "default", max_running=1)
    enqueued = enqueue_times(conn, 2)
    conn.execute("""
        DO $$
        BEGIN
            PERFORM turnstile.claim_next();
            PERFORM turnstile.enqueue('undone');
            RAISE EXCEPTION 'no';
        EXCEPTION WHEN raise_exception THEN NULL;
        END $$""")
    assert rows.counts(conn) == {"available": 2}
    assert ids(claim_all(conn)) == enqueued[:1]


def test_a_loop_of_caught_refusals_leaves_the_queue_as_it_was(conn):
    job_id = enqueue(conn)
    conn.execute(f"""
        DO $$
        BEGIN
            FOR n IN 1..100 LOOP
                BEGIN
                    PERFORM turnstile.complete({job_id}, n);
                EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL;
                END;
            END LOOP;
        END $$""")
    assert claim_next(conn).id == job_id


def test_a_row_trigger_enqueues_for_each_row_and_not_for_rolled_back_ones(conn):
    conn.execute("""
        CREATE TABLE orders (id int PRIMARY KEY);
        CREATE FUNCTION enqueue_order() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM turnstile.enqueue('order', jsonb_build_object('order', NEW.id));
            RETURN NEW;
        END $$;
        CREATE TRIGGER enqueue_order AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION enqueue_order()""")
    conn.execute("INSERT INTO orders SELECT generate_series(1, 20)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        conn.execute("INSERT INTO orders SELECT generate_series(30, 10, -1)")
    assert [job.payload["order"] for job in claim_all(conn)] == list(range(1, 21))


def test_a_deferred_trigger_enqueues_at_commit(conn):
    conn.execute("""
        CREATE TABLE orders (id int);
        CREATE FUNCTION enqueue_order() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM turnstile.enqueue('order');
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER enqueue_order AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION enqueue_order()""")
    conn.execute("INSERT INTO orders VALUES (1), (2)")
    assert len(claim_all(conn)) == 2


def test_a_users_trigger_on_job_may_claim_and_enqueue(conn):
    """A trigger of the user's own fires in the middle of our statements; what it does counts as well."""
    conn.execute("""
        CREATE FUNCTION follow_up() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.kind = 'first' THEN PERFORM turnstile.enqueue('second'); END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER follow_up AFTER DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION follow_up()""")
    enqueue(conn, "first")
    conn.execute("DELETE FROM turnstile.job")
    assert [job.kind for job in claim_all(conn)] == ["second"]


def test_a_subquery_for_each_row_enqueues_for_each_row(conn):
    made = conn.execute(
        "SELECT (SELECT turnstile.enqueue('work', jsonb_build_object('n', n))) FROM generate_series(1, 25) n"
    ).fetchall()
    claimed = claim_all(conn)
    assert ids(claimed) == [row[0] for row in made]
    assert [job.payload["n"] for job in claimed] == list(range(1, 26))


def test_a_subquery_for_each_row_claims_for_each_row(conn):
    configure(conn, "queue", "default", max_running=3)
    enqueued = enqueue_times(conn, 5)
    taken = conn.execute(
        "SELECT (SELECT id FROM turnstile.claim_next(CASE WHEN n > 0 THEN 'default' END)) FROM generate_series(1, 5) n"
    ).fetchall()
    assert [row[0] for row in taken] == [*enqueued[:3], None, None]


def test_one_statement_completes_all_that_it_selects(conn):
    enqueue_times(conn, 10)
    claim_all(conn)
    done = conn.execute("SELECT turnstile.complete(id, attempt) FROM turnstile.job WHERE state = 'running'").fetchall()
    assert done == [(True,)] * 10
    assert rows.counts(conn) == {"completed": 10}


def test_one_statement_claims_and_completes(conn):
    enqueued = enqueue_times(conn, 10)
    done = conn.execute(
        "SELECT c.id, turnstile.complete(c.id, c.attempt) FROM turnstile.claim(ARRAY['default'], 10) c"
    ).fetchall()
    assert done == [(job_id, True) for job_id in enqueued]


def test_a_limit_of_the_caller_does_not_leave_claimed_jobs_behind(conn):
    """LIMIT reads part of the rows; all that the call claimed are running, none is lost."""
    enqueue_times(conn, 5)
    conn.execute("SELECT id FROM turnstile.claim(ARRAY['default'], 3) LIMIT 1")
    assert rows.counts(conn) == {"running": 3, "available": 2}
    assert len(claim_all(conn)) == 2


def test_claims_joined_to_other_rows_are_not_repeated_by_the_plan(conn):
    enqueue_times(conn, 8)
    claimed = conn.execute(
        "SELECT c.id FROM turnstile.claim(ARRAY['default'], 2) c CROSS JOIN generate_series(1, 50) n"
    ).fetchall()
    assert len(claimed) == 100
    assert rows.counts(conn) == {"running": 2, "available": 6}


def test_a_generic_plan_and_a_custom_one_claim_alike(conn):
    enqueued = enqueue_times(conn, 20)
    conn.execute("PREPARE take(text) AS SELECT id FROM turnstile.claim_next($1)")
    taken = []
    for mode in ("force_custom_plan", "force_generic_plan", "auto"):
        conn.execute(f"SET plan_cache_mode = {mode}")
        taken += [conn.execute("EXECUTE take('default')").fetchone()[0] for _ in range(6)]
    assert taken == enqueued[:18]


@pytest.mark.parametrize(
    "setting",
    ["search_path = pg_temp", "search_path = ''", "enable_indexscan = off", "enable_seqscan = off",
     "default_transaction_deferrable = on",
     "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'", "bytea_output = escape",
     "standard_conforming_strings = off", "row_security = off", "jit_above_cost = 0", "xmloption = document"],
)  # fmt: skip
def test_the_callers_settings_change_no_rule(conn, setting):
    enqueue(conn)
    conn.execute(f"SET {setting}")
    enqueue(conn, tenant="acme", run_at="2001-01-01")
    runs = claim_all(conn)
    assert len(runs) == 2
    assert all(complete(conn, run) for run in runs)


def test_names_shadowed_on_the_callers_search_path_are_not_used(conn):
    conn.execute("""
        CREATE SCHEMA shadow;
        CREATE FUNCTION shadow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
        CREATE FUNCTION shadow.never(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
        CREATE OPERATOR shadow.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.never);
        CREATE TABLE shadow.job (id int);
        SET search_path = shadow, pg_catalog""")
    enqueue(conn, tenant="acme")
    run = claim_next(conn)
    assert complete(conn, run)
    conn.execute("RESET search_path")
    assert rows.finished(conn, run.id).finished_at.year < 9999


def test_an_open_cursor_over_jobs_does_not_hold_claims_up(conn, other):
    enqueue_times(conn, 50)
    conn.execute("BEGIN")
    conn.execute("DECLARE c CURSOR FOR SELECT * FROM turnstile.job")
    conn.execute("FETCH 5 FROM c")
    assert len(claim_all(other)) == 50
    conn.execute("COMMIT")


def test_a_copy_in_progress_does_not_hold_claims_up(conn, other):
    enqueued = enqueue_times(other, 3)
    with conn.cursor().copy("COPY turnstile.job (queue, kind) FROM STDIN") as copy:
        copy.write_row(("default", "copied"))
        assert ids(claim_all(other)) == enqueued
    assert claim_next(other).kind == "copied"
