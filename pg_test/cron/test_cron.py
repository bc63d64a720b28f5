"""The real pg_cron: what it is told, what it runs, and that a firing enqueues once."""

import contextlib
import subprocess
import time

import psycopg
import pytest

from faults.cluster import binary
from support import rows
from support.calls import call, claim_next
from support.crew import together
from support.database import Database, fresh_database
from support.errors import BAD_VALUE, NO_PRIVILEGE, NO_SUCH_JOB, WRONG_STATE, refused
from support.recurring import fire, recurring_jobs

MAINTAIN = "SELECT turnstile.maintain()"
PATIENCE = 240


def _entries(conn) -> dict[str, str]:
    return dict(conn.execute("SELECT command, schedule FROM cron.job").fetchall())


def _runs(conn, command: str) -> list[str]:
    query = "SELECT status FROM cron.job_run_details WHERE command = %s AND end_time IS NOT NULL"
    return [row[0] for row in conn.execute(query, [command]).fetchall()]


def _schedule(conn, name: str = "nightly", cron: str = "0 3 * * *", **options) -> int:
    return call(conn, "schedule", name=name, cron=cron, kind="report", **options)[0][0]


def test_pg_cron_runs_maintain_and_a_recurring_job_once_a_firing(conn):
    """The only test that waits: for two firings."""
    call(conn, "enable_cron")
    _schedule(conn, "each minute", "* * * * *", payload={"n": 1}, queue="reports", priority=3)
    # The same job a second time, under a name of its own: pg_cron runs it twice.
    conn.execute("SELECT cron.schedule('twice', '* * * * *', $$SELECT turnstile.enqueue_recurring('each minute')$$)")
    command = "SELECT turnstile.enqueue_recurring('each minute')"
    give_up = time.monotonic() + PATIENCE
    while len(_runs(conn, command)) < 4 or len(_runs(conn, MAINTAIN)) < 2:
        assert time.monotonic() < give_up, conn.execute("SELECT * FROM cron.job_run_details").fetchall()
        time.sleep(0.5)
    conn.execute("SELECT cron.unschedule(jobid) FROM cron.job")
    time.sleep(1)
    assert set(_runs(conn, command) + _runs(conn, MAINTAIN)) == {"succeeded"}
    minutes = conn.execute(
        "SELECT count(DISTINCT date_trunc('minute', start_time)) FROM cron.job_run_details WHERE command = %s", [command]
    ).fetchone()[0]
    jobs = conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0]
    assert jobs == minutes >= 2
    [last] = recurring_jobs(conn)
    newest = conn.execute("SELECT max(id) FROM turnstile.job").fetchone()[0]
    assert (last.last_job_id, last.active) == (newest, False)
    job = claim_next(conn, "reports")
    assert (job.kind, job.payload, job.priority) == ("report", {"n": 1}, 3)


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


def test_disabling_leaves_recurring_jobs_and_the_entries_of_others(conn):
    conn.execute("SELECT cron.schedule('mine', '* * * * *', 'SELECT 1')")
    _schedule(conn)
    before = _entries(conn)
    call(conn, "enable_cron")
    call(conn, "disable_cron")
    assert _entries(conn) == before


@pytest.mark.parametrize("schedule", ["", "often", "* * * *", "61 * * * *", "'; SELECT 1"])
def test_a_schedule_that_pg_cron_does_not_know_is_refused(conn, schedule):
    with refused(BAD_VALUE):
        call(conn, "enable_cron", schedule=schedule)
    with refused(BAD_VALUE):
        _schedule(conn, cron=schedule)
    assert _entries(conn) == {}
    assert conn.execute("SELECT * FROM turnstile.recurring").fetchall() == []


def test_a_refused_schedule_leaves_the_one_before(conn):
    call(conn, "enable_cron")
    _schedule(conn)
    before = _entries(conn)
    for refuse in (lambda: call(conn, "enable_cron", schedule="often"), lambda: _schedule(conn, cron="often")):
        with refused(BAD_VALUE):
            refuse()
    assert _entries(conn) == before


NAMES = ["nightly", "it's; DROP TABLE x --", 'quo"ted', "back\\slash", "n" * 255, "日本", "a\nb", "%s $1"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_fired_by_the_command_that_pg_cron_has(conn, name):
    _schedule(conn, name)
    [command] = _entries(conn)
    job_id = conn.execute(command.encode()).fetchone()[0]
    assert rows.live(conn, job_id).kind == "report"


def test_names_that_begin_alike_are_kept_apart(conn):
    for end in "abc":
        _schedule(conn, "n" * 254 + end)
    assert len(_entries(conn)) == 3
    assert call(conn, "unschedule", name="n" * 254 + "b")[0][0] is True
    assert len(_entries(conn)) == 2


def test_scheduling_again_replaces_schedule_and_job(conn):
    _schedule(conn, payload={"n": 1}, tenant="acme", max_attempts=3)
    _schedule(conn, cron="5 4 * * *", payload={"n": 2})
    assert list(_entries(conn).values()) == ["5 4 * * *"]
    row = rows.live(conn, fire(conn))
    assert (row.payload, row.tenant, row.max_attempts) == ({"n": 2}, None, 25)
    [shown] = recurring_jobs(conn)
    assert (shown.name, shown.cron, shown.active, shown.last_job_id) == ("nightly", "5 4 * * *", True, row.id)


def test_unscheduling_ends_the_firings_and_leaves_the_jobs(conn):
    _schedule(conn)
    job_id = fire(conn)
    assert call(conn, "unschedule", name="nightly")[0][0] is True
    assert _entries(conn) == {}
    assert call(conn, "unschedule", name="nightly")[0][0] is False
    with refused(NO_SUCH_JOB):
        fire(conn)
    assert rows.live(conn, job_id)


def test_scheduling_in_a_transaction_that_rolls_back_leaves_nothing(conn):
    conn.execute("BEGIN")
    _schedule(conn)
    call(conn, "enable_cron")
    conn.execute("ROLLBACK")
    assert _entries(conn) == {}
    assert recurring_jobs(conn) == []


def test_two_sessions_schedule_the_same_name_at_once(db, conn):
    together([lambda own=db.connect(), n=n: _schedule(own, payload={"n": n}) for n in range(4)])
    assert len(_entries(conn)) == 1
    assert len(recurring_jobs(conn)) == 1


def test_the_log_of_our_runs_is_cleaned_and_that_of_others_is_not(conn):
    for command in (MAINTAIN, "SELECT turnstile.enqueue_recurring('x')", "SELECT turnstile.clean_cron_log()", "SELECT 1"):
        for age in ("2 days", "4 days"):
            conn.execute(
                "INSERT INTO cron.job_run_details (jobid, runid, database, username, command, status, start_time, end_time)"
                " VALUES (1, nextval('cron.runid_seq'), current_database(), current_user, %s, 'succeeded',"
                " now() - %s::interval, now() - %s::interval)",
                [command, age, age],
            )
    assert call(conn, "clean_cron_log")[0][0] == 3
    assert call(conn, "clean_cron_log", keep="1 day")[0][0] == 3
    left = conn.execute("SELECT DISTINCT command FROM cron.job_run_details").fetchall()
    assert left == [("SELECT 1",)]


def test_a_role_that_may_only_execute_schedules_as_the_owner(db, conn):
    conn.execute("DROP ROLE IF EXISTS turnstile_planner; CREATE ROLE turnstile_planner")
    try:
        conn.execute(
            "GRANT USAGE ON SCHEMA turnstile TO turnstile_planner;"
            " GRANT EXECUTE ON FUNCTION turnstile.enqueue, turnstile.schedule, turnstile.unschedule, turnstile.enable_cron,"
            " turnstile.disable_cron TO turnstile_planner;"
            " SELECT turnstile.allow_producer('turnstile_planner')"
        )
        planner = db.connect()
        planner.execute("SET ROLE turnstile_planner")
        _schedule(planner)
        call(planner, "enable_cron")
        owners = conn.execute("SELECT DISTINCT username = 'turnstile_planner' FROM cron.job").fetchall()
        assert owners == [(False,)]
        assert call(planner, "disable_cron")[0][0] == 2
        assert call(planner, "unschedule", name="nightly")[0][0] is True
    finally:
        conn.execute("DROP OWNED BY turnstile_planner; DROP ROLE turnstile_planner")


def test_a_recurring_job_belongs_to_who_has_set_it_up(db: Database, conn):
    """Others replace it not; a superuser may, and it stays its owner's; each firing asks for the owner's rights."""
    roles = ["turnstile_owner", "turnstile_other"]
    for name in roles:
        conn.execute(f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA turnstile TO {name};"
                     f" GRANT EXECUTE ON FUNCTION turnstile.schedule, turnstile.unschedule TO {name};"
                     f" SELECT turnstile.allow_producer('{name}')")  # fmt: skip
    owner, other = (psycopg.connect(dbname=db.name, user=name, autocommit=True) for name in roles)
    try:
        with owner, other:
            _schedule(owner, payload={"n": 1})
            with refused(NO_PRIVILEGE):
                _schedule(other, payload={"n": 2})
            with refused(NO_PRIVILEGE):
                call(other, "unschedule", name="nightly")
            assert conn.execute("SELECT owner, payload FROM turnstile.recurring").fetchall() == [("turnstile_owner", {"n": 1})]
            _schedule(owner, payload={"n": 3})
            _schedule(conn, payload={"n": 4})
            assert conn.execute("SELECT owner, payload FROM turnstile.recurring").fetchall() == [("turnstile_owner", {"n": 4})]
            assert conn.execute("SELECT count(*), bool_and(username = current_user) FROM cron.job").fetchone() == (1, True)
            assert rows.live(conn, fire(conn)).payload == {"n": 4}
            conn.execute("UPDATE turnstile.recurring SET last_firing = NULL; REVOKE EXECUTE ON FUNCTION turnstile.enqueue FROM turnstile_owner")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                fire(conn)
        conn.execute("DROP OWNED BY turnstile_owner; DROP ROLE turnstile_owner")
        _schedule(conn, payload={"n": 5})
        assert conn.execute("SELECT owner = current_user FROM turnstile.recurring").fetchall() == [(True,)]
    finally:
        for name in roles:
            if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
                conn.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_who_may_call_everything_has_no_power_over_the_owners_entries(db: Database, conn):
    """Helpers have the rights of who calls them, and pg_cron shows him his own entries."""
    conn.execute("DROP ROLE IF EXISTS turnstile_intruder; CREATE ROLE turnstile_intruder LOGIN")
    conn.execute("CREATE TABLE IF NOT EXISTS victim ()")
    try:
        conn.execute(
            "GRANT USAGE ON SCHEMA turnstile, cron TO turnstile_intruder;"
            " GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile TO turnstile_intruder"
        )
        conn.execute("SELECT cron.schedule('backup', '0 3 * * *', 'SELECT 1')")
        _schedule(conn)
        before = conn.execute("SELECT jobname, username, command FROM cron.job ORDER BY 1").fetchall()
        intruder = psycopg.connect(dbname=db.name, user="turnstile_intruder", autocommit=True)
        with intruder:
            intruder.execute("SELECT turnstile.set_cron_entry('backup', '0 3 * * *', 'DROP TABLE victim')")
            assert intruder.execute("SELECT username FROM cron.job").fetchall() == [("turnstile_intruder",)]
            assert call(intruder, "remove_cron_entry", entry="backup")[0][0] is True
            assert call(intruder, "remove_cron_entry", entry="backup")[0][0] is False
            for statement in ("turnstile.clean_cron_log('0')", "turnstile.enqueue_recurring('nightly')"):
                with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                    intruder.execute(f"SELECT {statement}")
        assert conn.execute("SELECT jobname, username, command FROM cron.job ORDER BY 1").fetchall() == before
        assert conn.execute("SELECT last_firing FROM turnstile.recurring").fetchall() == [(None,)]
    finally:
        conn.execute("DROP TABLE victim; DROP OWNED BY turnstile_intruder; DROP ROLE turnstile_intruder")


def test_a_dump_carries_recurring_jobs(db: Database, conn, tmp_path):
    _schedule(conn, payload={"n": 7}, tenant="acme")
    path = tmp_path / "dump"
    dump = [binary(conn, "pg_dump"), "-Fc", "--exclude-schema=cron", "--extension=turnstile", "-f", path, db.name]
    subprocess.run(dump, check=True)
    with fresh_database(extension=False) as copy:
        subprocess.run([binary(conn, "pg_restore"), "--exit-on-error", "-d", copy.name, path], check=True)
        restored = copy.connect()
        [shown] = recurring_jobs(restored)
        assert (shown.name, shown.cron, shown.active) == ("nightly", "0 3 * * *", False)
        row = rows.live(restored, fire(restored))
        assert (row.payload, row.tenant) == ({"n": 7}, "acme")
        with refused(WRONG_STATE):
            _schedule(restored)
