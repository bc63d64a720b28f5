"""CREATE EXTENSION by a superuser in a database in which somebody else may create schemas."""

import psycopg
import pytest
from psycopg import sql

from support.calls import claim_next, enqueue
from support.database import fresh_database

TRAP = """
    CREATE FUNCTION turnstile.trap() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        CREATE TABLE public.trapped AS SELECT current_user;
        RETURN true;
    END $$
"""
TRAPS = {
    "nothing": "",
    "an operator": TRAP + """;
        CREATE FUNCTION turnstile.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT turnstile.trap()';
        CREATE FUNCTION turnstile.same(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT turnstile.trap()';
        CREATE FUNCTION turnstile.same(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT turnstile.trap()';
        CREATE OPERATOR turnstile.= (LEFTARG = name, RIGHTARG = text, FUNCTION = turnstile.same);
        CREATE OPERATOR turnstile.= (LEFTARG = name, RIGHTARG = name, FUNCTION = turnstile.same);
        CREATE OPERATOR turnstile.<> (LEFTARG = oid, RIGHTARG = oid, FUNCTION = oidne)
    """,
    "functions": TRAP + """;
        CREATE FUNCTION turnstile.version() RETURNS text LANGUAGE sql AS 'SELECT turnstile.trap()::text';
        CREATE FUNCTION turnstile.current_setting(varchar) RETURNS text LANGUAGE sql AS 'SELECT turnstile.trap()::text'
    """,
    "an overloaded function": TRAP + """;
        CREATE FUNCTION turnstile.check_permission(text, varchar) RETURNS text LANGUAGE sql AS 'SELECT turnstile.trap()::text'
    """,
    "a type": "CREATE DOMAIN turnstile.regclass AS text",
    "a table": "CREATE TABLE turnstile.job (id bigint)",
    "a sequence": "CREATE SEQUENCE turnstile.mine",
    "default privileges": "ALTER DEFAULT PRIVILEGES IN SCHEMA turnstile GRANT ALL ON TABLES TO PUBLIC",
}  # fmt: skip


@pytest.fixture
def empty_db():
    """A database without the extension."""
    with fresh_database(extension=False) as database:
        yield database


@pytest.fixture
def squatter(empty_db, role):
    """A role that may create schemas there, and a connection of the superuser's with his rights."""
    connection = empty_db.connect()
    connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(sql.Identifier(empty_db.name), sql.Identifier(role)))
    connection.execute(sql.SQL("GRANT CREATE, USAGE ON SCHEMA public TO {0}; SET ROLE {0}").format(sql.Identifier(role)))
    yield connection
    connection.execute(sql.SQL("RESET ROLE; DROP OWNED BY {} CASCADE").format(sql.Identifier(role)))


def _refused(admin, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        admin.execute("CREATE EXTENSION turnstile")
    assert caught.value.sqlstate == sqlstate, caught.value
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
    assert admin.execute("SELECT to_regclass('public.trapped')").fetchone()[0] is None
    assert admin.execute("SELECT 1 FROM pg_extension WHERE extname = 'turnstile'").fetchall() == []


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_a_schema_of_another_role_is_refused(empty_db, squatter, trap):
    squatter.execute("CREATE SCHEMA turnstile")
    if trap:
        squatter.execute(trap)
    _refused(empty_db.connect(), "42501")


@pytest.mark.parametrize("trap", [text for text in TRAPS.values() if text], ids=[name for name, text in TRAPS.items() if text])
def test_a_schema_that_holds_something_is_refused_whoever_owns_it(empty_db, squatter, trap):
    """Its objects may still be somebody else's."""
    admin = empty_db.connect()
    squatter.execute("CREATE SCHEMA turnstile;" + trap)
    admin.execute("ALTER SCHEMA turnstile OWNER TO CURRENT_USER")
    _refused(admin, "55000")


@pytest.mark.parametrize("grantee", ["PUBLIC", "the role"])
def test_a_schema_into_which_others_may_put_something_is_refused(empty_db, role, grantee):
    admin = empty_db.connect()
    to = sql.SQL("PUBLIC") if grantee == "PUBLIC" else sql.Identifier(role)
    admin.execute("CREATE SCHEMA turnstile")
    admin.execute(sql.SQL("GRANT CREATE ON SCHEMA turnstile TO {}").format(to))
    _refused(admin, "42501")
    admin.execute("DROP SCHEMA turnstile")


def test_an_empty_schema_of_ones_own_will_do(empty_db):
    """It becomes part of the extension, and goes with it."""
    admin = empty_db.connect()
    admin.execute("CREATE SCHEMA turnstile; GRANT USAGE ON SCHEMA turnstile TO PUBLIC")
    for _ in range(2):
        admin.execute("CREATE EXTENSION turnstile")
        assert claim_next(admin).id if enqueue(admin) else False
        admin.execute("DROP EXTENSION turnstile")


def test_an_extension_that_was_dropped_can_be_made_again(empty_db):
    admin = empty_db.connect()
    for _ in range(2):
        admin.execute("CREATE EXTENSION turnstile")
        enqueue(admin)
        admin.execute("DROP EXTENSION turnstile")


@pytest.mark.parametrize(
    "setting",
    ["search_path = public, pg_catalog", "search_path = pg_temp, public", "default_table_access_method = trap",
     "standard_conforming_strings = off", "DateStyle = 'German'", "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'",
     "default_transaction_isolation = serializable"],
)  # fmt: skip
def test_the_settings_of_who_creates_it_do_not_count(empty_db, setting):
    admin = empty_db.connect()
    admin.execute("CREATE ACCESS METHOD trap TYPE TABLE HANDLER heap_tableam_handler")
    admin.execute("CREATE FUNCTION public.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1000'")
    admin.execute("SET " + setting)
    admin.execute("CREATE EXTENSION turnstile")
    admin.execute("RESET DateStyle; RESET IntervalStyle; RESET TimeZone; RESET default_transaction_isolation")
    assert enqueue(admin, queue="q") == claim_next(admin, "q").id
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace AND relam = (SELECT oid FROM pg_am WHERE amname = 'trap')"
    assert admin.execute(query).fetchall() == []
    if "search_path" not in setting:
        assert admin.execute("SHOW search_path").fetchone()[0] == '"$user", public'
