"""The server fires recurring jobs by itself: after a commit, a restart, a crash, and in databases that nobody uses."""

import contextlib
import time

import psycopg
import pytest
from psycopg import sql

from faults.cluster import own_cluster
from support.calls import call
from support.database import fresh_database
from support.recurring import recur, recurring_jobs
from support.untold import untold

PATIENCE = 60
NAMES = ["nightly", "it's; DROP TABLE x --", 'quo"ted', "back\\slash", "n" * 255, "日本", "a\nb", "%s $1"]


def _until(conn, query: str, wanted, patience: float = PATIENCE) -> None:
    give_up = time.monotonic() + patience
    while (found := conn.execute(query).fetchone()[0]) != wanted:
        assert time.monotonic() < give_up, (found, conn.execute("TABLE turnstile.recurring_jobs").fetchall())
        time.sleep(0.05)


JOBS = "SELECT count(*) FROM turnstile.job"


def test_it_fires_by_itself(conn):
    """Whatever the name is."""
    for name in NAMES:
        call(conn, "schedule", name=name, cron="0 3 * * *", kind="report")
    conn.execute("UPDATE turnstile.recurring SET next_firing = now()")
    _until(conn, JOBS, len(NAMES))
    assert sorted(state.name for state in recurring_jobs(conn) if state.last_job_id) == sorted(NAMES)
    assert conn.execute("SELECT count(*) FROM turnstile.check()").fetchone()[0] == 0


def test_a_change_is_heard_of_between_two_rounds(conn):
    """The worker has just been here, and would come again in a minute."""
    recur(conn, "first")
    _until(conn, JOBS, 1)
    recur(conn, "second")
    _until(conn, JOBS, 2, patience=40)


def test_a_firing_whose_time_comes(conn):
    conn.execute("INSERT INTO turnstile.recurring (name, cron, kind, next_firing) VALUES ('soon', '0 3 * * *', 'k', now() + interval '2 seconds')")
    assert conn.execute(JOBS).fetchone()[0] == 0
    _until(conn, JOBS, 1)


def test_a_change_that_rolls_back_fires_nothing(conn):
    conn.execute("BEGIN")
    recur(conn)
    conn.execute("ROLLBACK; BEGIN; SAVEPOINT s")
    recur(conn, "other")
    conn.execute("ROLLBACK TO s; COMMIT")
    recur(conn, "third")
    _until(conn, JOBS, 1)
    assert [state.name for state in recurring_jobs(conn)] == ["third"]


def test_a_pause_and_its_end_are_heard_of(conn):
    recur(conn, paused_until="infinity")
    recur(conn, "other")
    _until(conn, JOBS, 1)
    call(conn, "resume_recurring", name="nightly")
    _until(conn, JOBS, 2)
    conn.execute("UPDATE turnstile.recurring SET next_firing = '2026-01-01', paused_until = now() + interval '1 second'")
    _until(conn, JOBS, 4)


def test_one_that_fails_is_in_the_log_and_does_not_stop_others(conn):
    recur(conn, "bad", queue="q" * 256)
    recur(conn, "good")
    _until(conn, JOBS, 1)
    _until(conn, "SELECT count(*) FROM turnstile.recurring_jobs WHERE last_error IS NOT NULL AND next_firing > now()", 1)


def test_one_that_pretends_to_be_cancelled_does_not_stop_others(conn):
    conn.execute(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF new.kind = 'bad' THEN RAISE 'no' USING ERRCODE = 'query_canceled'; END IF; RETURN new; END $$;"
        " CREATE TRIGGER refuse BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.refuse()"
    )
    recur(conn, "bad", kind="bad")
    recur(conn, "good")
    _until(conn, JOBS, 1)
    _until(conn, "SELECT count(*) FROM turnstile.recurring_jobs WHERE last_error = 'no' AND next_firing > now()", 1)


def test_a_call_that_fires_nothing_keeps_nothing_from_firing(conn):
    conn.execute("SET turnstile.fire_recurring = off")
    recur(conn)
    assert call(conn, "fire_recurring")[0][0] == 0
    conn.execute("SET turnstile.fire_recurring = on")
    assert call(conn, "fire_recurring", max_jobs=0)[0][0] == 0
    _until(conn, JOBS, 1)


def test_one_whose_row_is_locked_waits_for_the_end_of_that(conn, other):
    recur(conn, paused_until="infinity")
    other.execute("BEGIN; SELECT FROM turnstile.recurring FOR UPDATE")
    recur(conn, "second")
    _until(conn, JOBS, 1)
    other.execute("UPDATE turnstile.recurring SET paused_until = NULL WHERE name = 'nightly'; COMMIT")
    _until(conn, JOBS, 2)


def test_a_firing_that_is_undone_is_made_by_the_server(conn, other):
    """Memory was told by then when the next one is due."""
    conn.execute("INSERT INTO turnstile.recurring (name, cron, kind, next_firing) VALUES ('soon', '0 3 * * *', 'k', now() + interval '2 seconds')")
    conn.execute("BEGIN; SELECT FROM turnstile.recurring FOR UPDATE")
    _until(other, "SELECT next_firing <= clock_timestamp() FROM turnstile.recurring", True)
    assert call(conn, "fire_recurring")[0][0] == 1
    assert other.execute(JOBS).fetchone()[0] == 0
    conn.execute("ROLLBACK")
    _until(other, JOBS, 1)


def test_a_firing_of_a_worker_that_is_killed_is_made_by_another(conn, other):
    conn.execute(
        "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF to_regclass('public.open') IS NULL THEN PERFORM pg_sleep(60); END IF; RETURN new; END $$;"
        " CREATE TRIGGER wait BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.wait()"
    )
    recur(conn)
    worker = "backend_type = 'turnstile upkeep' AND datname = current_database() AND wait_event = 'PgSleep'"
    _until(other, f"SELECT count(*) FROM pg_stat_activity WHERE {worker}", 1)
    conn.execute("CREATE TABLE public.open ()")
    other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {worker}")
    _until(conn, JOBS, 1)


@pytest.mark.parametrize("immediate", [False, True])
def test_after_a_restart_databases_that_nobody_uses_fire_too(immediate):
    """A firing each: of what was missed meanwhile, in each of three databases, and again in one that is a copy."""
    with own_cluster("recurring") as cluster, contextlib.ExitStack() as stack:
        databases = [stack.enter_context(fresh_database()) for _ in range(3)]
        for database in databases:
            conn = database.connect()
            recur(conn, next_firing="2100-01-01")
            conn.execute("ALTER TABLE turnstile.recurring DISABLE TRIGGER publish_recurring")
            conn.execute("UPDATE turnstile.recurring SET next_firing = '2026-01-01'")
            conn.execute("ALTER TABLE turnstile.recurring ENABLE ALWAYS TRIGGER publish_recurring")
            conn.close()
        cluster.restart(immediate=immediate)
        for database in databases:
            with psycopg.connect(dbname=database.name, autocommit=True) as conn:
                _until(conn, JOBS, 1)
                assert recurring_jobs(conn)[0].last_error is None


def test_a_copy_with_firings_switched_off_rests(conn, db):
    """The worker reads the setting of the database, and so does a firing by hand."""
    conn.execute(sql.SQL("ALTER DATABASE {} SET turnstile.fire_recurring = off").format(sql.Identifier(db.name)))
    recur(conn)
    with psycopg.connect(dbname=db.name, autocommit=True) as session:
        assert call(session, "fire_recurring")[0][0] == 0
        session.execute("SET turnstile.fire_recurring = on")
        assert call(session, "fire_recurring")[0][0] == 1
    assert conn.execute(JOBS).fetchone()[0] == 1


def test_a_rebuild_reads_what_no_trigger_has_told(conn):
    """As after a subscription, which fires no trigger for each statement."""
    with untold(conn, "recurring"):
        recur(conn)
    call(conn, "rebuild")
    _until(conn, JOBS, 1)
