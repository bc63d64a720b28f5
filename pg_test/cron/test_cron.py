"""The real pg_cron: what it is told, what it runs, and what outlives the extension."""

import contextlib
import time

import psycopg
import pytest

from support.calls import call
from support.database import Database
from support.errors import BAD_VALUE, refused
from support.recurring import recurring_jobs

_COMMAND = """DO $do$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'turnstile') THEN
        PERFORM cron.unschedule(jobid) FROM cron.job
        WHERE jobname IN ('turnstile maintain', 'turnstile clean-up') AND username = current_user;
    ELSE
        PERFORM turnstile.{}();
    END IF;
END $do$"""
MAINTAIN, CLEAN_UP = (_COMMAND.format(verb) for verb in ("maintain", "clean_cron_log"))
PATIENCE = 240


def _entries(conn) -> dict[str, str]:
    return dict(conn.execute("SELECT command, schedule FROM cron.job").fetchall())


def _runs(conn, command: str) -> list[str]:
    query = "SELECT status FROM cron.job_run_details WHERE command = %s AND end_time IS NOT NULL"
    return [row[0] for row in conn.execute(query, [command]).fetchall()]


def test_pg_cron_runs_maintain(conn):
    """The only test that waits: for two runs."""
    call(conn, "enable_cron")
    give_up = time.monotonic() + PATIENCE
    while len(_runs(conn, MAINTAIN)) < 2:
        assert time.monotonic() < give_up, conn.execute("SELECT * FROM cron.job_run_details").fetchall()
        time.sleep(0.5)
    assert set(_runs(conn, MAINTAIN)) == {"succeeded"}


def test_enabling_again_changes_the_schedule_and_disabling_removes_all(conn):
    call(conn, "enable_cron")
    first = _entries(conn)
    assert first[MAINTAIN] == "* * * * *"
    assert len(first) == 2
    call(conn, "enable_cron", schedule="*/5 * * * *")
    assert _entries(conn) == first | {MAINTAIN: "*/5 * * * *"}
    assert call(conn, "disable_cron")[0][0] == 2
    assert _entries(conn) == {}
    assert call(conn, "disable_cron")[0][0] == 0


def test_disabling_leaves_the_entries_of_others(conn):
    conn.execute("SELECT cron.schedule('mine', '* * * * *', 'SELECT 1')")
    before = _entries(conn)
    call(conn, "enable_cron")
    call(conn, "disable_cron")
    assert _entries(conn) == before


@pytest.mark.parametrize("schedule", ["", "often", "* * * *", "61 * * * *", "'; SELECT 1"])
def test_a_schedule_that_pg_cron_does_not_know_is_refused(conn, schedule):
    with refused(BAD_VALUE):
        call(conn, "enable_cron", schedule=schedule)
    assert _entries(conn) == {}


def test_a_refused_schedule_leaves_the_one_before(conn):
    call(conn, "enable_cron")
    before = _entries(conn)
    with refused(BAD_VALUE):
        call(conn, "enable_cron", schedule="often")
    assert _entries(conn) == before


def test_enabling_in_a_transaction_that_rolls_back_leaves_nothing(conn):
    conn.execute("BEGIN")
    call(conn, "enable_cron")
    conn.execute("ROLLBACK")
    assert _entries(conn) == {}


def test_an_entry_that_outlives_the_extension_removes_both(conn):
    conn.execute("SELECT cron.schedule('mine', '* * * * *', 'SELECT 1')")
    call(conn, "enable_cron")
    commands = [command for command in _entries(conn) if "turnstile" in command]
    assert len(commands) == 2
    for command in commands:
        conn.execute("BEGIN; DROP EXTENSION turnstile")
        conn.execute(command.encode())
        assert list(_entries(conn)) == ["SELECT 1"]
        conn.execute("ROLLBACK")
        conn.execute(command.encode())
    assert len(_entries(conn)) == 3


def test_an_upgrade_removes_the_entries_of_recurring_jobs(conn):
    """And gives those of maintain() the command that removes itself."""
    conn.execute("DROP EXTENSION turnstile; CREATE EXTENSION turnstile VERSION '0.1.0'")
    try:
        conn.execute("INSERT INTO turnstile.recurring (name, cron, kind) VALUES ('nightly', '0 3 * * *', 'report'), ('idle', '0 3 * * *', 'x')")
        conn.execute(
            "SELECT turnstile.set_cron_entry(cron_entry, cron, format('SELECT turnstile.enqueue_recurring(%L)', name))"
            " FROM turnstile.recurring WHERE name = 'nightly'"
        )
        conn.execute("SELECT turnstile.enable_cron('*/5 * * * *'); SELECT cron.schedule('mine', '* * * * *', 'SELECT 1')")
        assert len(_entries(conn)) == 4
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert _entries(conn)[MAINTAIN] == "*/5 * * * *"
        assert len(_entries(conn)) == 3
        assert not [command for command in _entries(conn) if "recurring" in command]
        give_up = time.monotonic() + PATIENCE
        while None in [row.next_firing for row in recurring_jobs(conn)]:
            assert time.monotonic() < give_up, recurring_jobs(conn)
            time.sleep(0.1)
        assert [row.name for row in recurring_jobs(conn)] == ["idle", "nightly"]
    finally:
        conn.execute("DROP EXTENSION turnstile; CREATE EXTENSION turnstile")


def test_the_log_of_our_runs_is_cleaned_and_that_of_others_is_not(conn):
    old = ["SELECT turnstile.maintain()", "SELECT turnstile.enqueue_recurring('x')", "SELECT turnstile.clean_cron_log()"]
    for command in (MAINTAIN, CLEAN_UP, *old, "SELECT 1"):
        for age in ("2 days", "4 days"):
            conn.execute(
                "INSERT INTO cron.job_run_details (jobid, runid, database, username, command, status, start_time, end_time)"
                " VALUES (1, nextval('cron.runid_seq'), current_database(), current_user, %s, 'succeeded',"
                " now() - %s::interval, now() - %s::interval)",
                [command, age, age],
            )
    assert call(conn, "clean_cron_log")[0][0] == 5
    assert call(conn, "clean_cron_log", keep="1 day")[0][0] == 5
    left = conn.execute("SELECT DISTINCT command FROM cron.job_run_details").fetchall()
    assert left == [("SELECT 1",)]


def test_a_role_that_may_only_execute_enables_it_as_the_owner(db, conn):
    conn.execute("DROP ROLE IF EXISTS turnstile_planner; CREATE ROLE turnstile_planner")
    try:
        conn.execute(
            "GRANT USAGE ON SCHEMA turnstile TO turnstile_planner;"
            " GRANT EXECUTE ON FUNCTION turnstile.enable_cron, turnstile.disable_cron TO turnstile_planner"
        )
        planner = db.connect()
        planner.execute("SET ROLE turnstile_planner")
        call(planner, "enable_cron")
        owners = conn.execute("SELECT DISTINCT username = 'turnstile_planner' FROM cron.job").fetchall()
        assert owners == [(False,)]
        assert call(planner, "disable_cron")[0][0] == 2
    finally:
        conn.execute("DROP OWNED BY turnstile_planner; DROP ROLE turnstile_planner")


def test_who_may_call_everything_has_no_power_over_the_owners_entries(db: Database, conn):
    """Helpers have the rights of who calls them, and pg_cron shows him his own entries."""
    conn.execute("DROP ROLE IF EXISTS turnstile_intruder; CREATE ROLE turnstile_intruder LOGIN")
    conn.execute("CREATE TABLE IF NOT EXISTS victim ()")
    try:
        conn.execute(
            "GRANT USAGE ON SCHEMA turnstile, turnstile_internal, cron TO turnstile_intruder;"
            " GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO turnstile_intruder"
        )
        conn.execute("SELECT cron.schedule('backup', '0 3 * * *', 'SELECT 1')")
        call(conn, "enable_cron")
        before = conn.execute("SELECT jobname, username, command FROM cron.job ORDER BY 1").fetchall()
        intruder = psycopg.connect(dbname=db.name, user="turnstile_intruder", autocommit=True)
        with intruder:
            intruder.execute("SELECT turnstile_internal.set_cron_entry('backup', '0 3 * * *', 'DROP TABLE victim')")
            assert intruder.execute("SELECT username FROM cron.job").fetchall() == [("turnstile_intruder",)]
            removed = "SELECT turnstile_internal.remove_cron_entry('backup')"
            assert intruder.execute(removed).fetchone()[0] is True
            assert intruder.execute(removed).fetchone()[0] is False
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                intruder.execute("SELECT turnstile.clean_cron_log('0')")
        assert conn.execute("SELECT jobname, username, command FROM cron.job ORDER BY 1").fetchall() == before
    finally:
        conn.execute("DROP TABLE victim; DROP OWNED BY turnstile_intruder; DROP ROLE turnstile_intruder")
