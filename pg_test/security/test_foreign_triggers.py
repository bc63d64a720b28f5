"""The extension's trigger functions on somebody's own table: an error, and nothing else."""

import itertools

import psycopg
import pytest

from support.calls import claim_next, enqueue
from support.errors import WRONG_STATE

NOT_A_TRIGGER = "39P01"

FUNCTIONS = {
    "job_changed": [""],
    "place_job": [""],
    "job_truncated": [""],
    "setting_changed": ["'queue'", "'tenant'", "'account'", "'concurrency'", "'session'", "'job'", ""],
    "settings_truncated": ["'queue'", "'tenant'", "'account'", "'concurrency'", "'session'", "'job'", ""],
    "set_gate": ["'queue'", "'session'", "'job'", ""],
    "routes_changed": [""],
    "endpoints_changed": [""],
    "retry_curves_changed": [""],
    "recurring_changed": [""],
    "forget_unique_keys": [""],
}

# As the extension's own tables are, with fewer columns, and with others in their places.
TABLES = {
    "like job": "CREATE TABLE {} AS TABLE turnstile.job WITH NO DATA",
    "like queue": "CREATE TABLE {} AS TABLE turnstile.queue WITH NO DATA",
    "of one column": "CREATE TABLE {} (id int)",
    "without columns": "CREATE TABLE {} ()",
    "of other types": "CREATE TABLE {} (a text, b int, c bool, d point, e text, f text, g int, h text, i int, j int, k int,"
    " l int, m int, n int, o int, p int, q text, r text, s text, gate text, name int, key int)",
}  # fmt: skip
STATEMENTS = {
    "INSERT": "INSERT INTO {} DEFAULT VALUES",
    "UPDATE": "UPDATE {0} SET ctid = ctid",
    "DELETE": "DELETE FROM {}",
    "TRUNCATE": "TRUNCATE {}",
}
MOMENTS = [
    (when, event, level)
    for when, event, level in itertools.product(["BEFORE", "AFTER"], STATEMENTS, ["ROW", "STATEMENT"])
    if (event, level) != ("TRUNCATE", "ROW")
]


@pytest.fixture
def rival(conn, intruder):
    """A role that may call everything and has a schema of its own."""
    intruder.grant(conn, "SELECT ON ALL TABLES IN SCHEMA turnstile")
    conn.execute(f'CREATE SCHEMA rival AUTHORIZATION "{intruder.name}"')
    return intruder.connect()


def _change(session, table: str, event: str) -> str | None:
    """The SQLSTATE of a statement on the table with its trigger; None: it went well."""
    statement = {
        "UPDATE": f"DO $$ DECLARE first text; BEGIN SELECT attname INTO first FROM pg_attribute WHERE attrelid = '{table}'::regclass"
        f" AND attnum = 1; EXECUTE format('UPDATE {table} SET %1$I = %1$I', first); END $$",
    }.get(event, STATEMENTS[event].format(table))  # fmt: skip
    try:
        session.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_trigger_of_ones_own_is_refused(conn, rival, neighbour, function, table):
    holder = enqueue(conn, unique_key="held", unique_mode="while_executing")
    conn.execute("INSERT INTO turnstile.unique_key VALUES ('', 'kept', 1, %s, 'until_executed')", [holder])
    rival.execute(TABLES[table].format("rival.plain"))
    has_row = table in ("of one column", "of other types")
    for argument, (when, event, level) in itertools.product(FUNCTIONS[function], MOMENTS):
        if event == "UPDATE" and table == "without columns":
            continue
        rival.execute("DROP TABLE rival.plain; " + TABLES[table].format("rival.plain"))
        if has_row or level == "ROW":
            rival.execute(_row(table))
        rival.execute(f"CREATE TRIGGER t {when} {event} ON rival.plain FOR EACH {level} EXECUTE FUNCTION turnstile_internal.{function}({argument})")
        sqlstate = _change(rival, "rival.plain", event) if event != "INSERT" else _sqlstate(rival, _row(table))
        assert sqlstate == WRONG_STATE, f"{when} {event} {level} ({argument}): {sqlstate}"
    assert conn.execute("SELECT count(*) FROM turnstile.unique_key").fetchone()[0] == 1
    assert conn.execute("SELECT * FROM turnstile.check()").fetchall() == []
    neighbour.works()
    assert claim_next(conn).id == holder


def _row(table: str) -> str:
    return {
        "like job": "INSERT INTO rival.plain (kind, lane, lane_group, state) VALUES ('work', 1, 1, 'available')",
        "like queue": "INSERT INTO rival.plain (name) VALUES ('*')",
    }.get(table, "INSERT INTO rival.plain DEFAULT VALUES")


def _sqlstate(session, statement: str) -> str | None:
    try:
        session.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_a_partition_or_child_of_ones_own_is_no_job(conn, rival, neighbour):
    """A table that has the same name, and one that a view stands before."""
    rival.execute("CREATE TABLE rival.job AS TABLE turnstile.job WITH NO DATA")
    rival.execute("CREATE TRIGGER t AFTER INSERT ON rival.job FOR EACH ROW EXECUTE FUNCTION turnstile_internal.job_changed()")
    assert _sqlstate(rival, "INSERT INTO rival.job (kind, lane) VALUES ('work', 1)") == WRONG_STATE
    rival.execute("CREATE VIEW rival.window AS SELECT * FROM rival.job")
    rival.execute("CREATE TRIGGER t INSTEAD OF INSERT ON rival.window FOR EACH ROW EXECUTE FUNCTION turnstile_internal.place_job()")
    assert _sqlstate(rival, "INSERT INTO rival.window (kind, lane) VALUES ('work', 1)") == WRONG_STATE
    neighbour.works()


def test_constraint_triggers_and_transition_tables_are_refused_too(rival, neighbour):
    rival.execute("CREATE TABLE rival.late AS TABLE turnstile.job WITH NO DATA")
    rival.execute("CREATE CONSTRAINT TRIGGER t AFTER INSERT ON rival.late DEFERRABLE INITIALLY DEFERRED"
                  " FOR EACH ROW EXECUTE FUNCTION turnstile_internal.job_changed()")  # fmt: skip
    assert _sqlstate(rival, "INSERT INTO rival.late (kind, lane) VALUES ('work', 1)") == WRONG_STATE
    rival.execute("DROP TRIGGER t ON rival.late")
    rival.execute("CREATE TRIGGER t AFTER INSERT ON rival.late REFERENCING NEW TABLE AS made"
                  " FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.job_truncated()")  # fmt: skip
    assert _sqlstate(rival, "INSERT INTO rival.late (kind, lane) VALUES ('work', 1)") == WRONG_STATE
    neighbour.works()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_trigger_function_that_is_called_is_refused(rival, function):
    """That of plpgsql by the server itself: 0A000."""
    sqlstate = _sqlstate(rival, f"SELECT turnstile_internal.{function}()")
    assert sqlstate == ("0A000" if function == "forget_unique_keys" else NOT_A_TRIGGER)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "forget_unique_keys"])
def test_an_event_trigger_cannot_be_made_of_them(conn, function):
    with pytest.raises(psycopg.errors.InvalidObjectDefinition):
        conn.execute(f"CREATE EVENT TRIGGER t ON ddl_command_end EXECUTE FUNCTION turnstile_internal.{function}()")


@pytest.mark.parametrize(
    ("definition", "statement"),
    [
        ("BEFORE DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION turnstile_internal.place_job()", "DELETE FROM turnstile.job"),
        ("BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION turnstile_internal.job_changed()",
         "INSERT INTO turnstile.job (kind) VALUES ('x')"),
        ("AFTER UPDATE ON turnstile.job FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.job_changed()",
         "UPDATE turnstile.job SET priority = 1"),
        ("AFTER INSERT ON turnstile.queue FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('tenant')",
         "INSERT INTO turnstile.queue (name) VALUES ('q')"),
        ("AFTER DELETE ON turnstile.queue FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('queue')",
         "DELETE FROM turnstile.queue"),
        ("AFTER TRUNCATE ON turnstile.unique_key FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.forget_unique_keys()",
         "TRUNCATE turnstile.unique_key"),
    ],
)  # fmt: skip
def test_on_the_extensions_tables_they_are_for_their_own_moments(conn, definition, statement):
    """Only the owner can make such a trigger."""
    enqueue(conn)
    conn.execute(f"CREATE TRIGGER a_trigger {definition}")
    assert _sqlstate(conn, statement) == WRONG_STATE
    conn.execute(f"DROP TRIGGER a_trigger ON {definition.split(' ON ')[1].split()[0]}")
    conn.execute(statement)
