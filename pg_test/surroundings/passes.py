"""The three ways through the script, each in a database of its own with the same surroundings."""

import contextlib
import secrets
import time

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from comparison import Account
from elements import Element
from plain import Plain
from script import PRIOR, play, prior
from support.database import GUARDS, server
from verbs import Verbs

# A call that never ends is to be noticed soon; none takes a second.
OPTIONS = GUARDS.replace("statement_timeout=120s", "statement_timeout=5s")

DIRECT, USUAL, PLAIN = "direct path", "usual path", "plain SQL"
OWNER = "surroundings_owner"

# What users' triggers call. They note what they see; `surroundings.step` is set by the script.
USERS = """
    CREATE SCHEMA users;
    GRANT USAGE ON SCHEMA users TO PUBLIC;
    CREATE TABLE users.log (
        seq bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT clock_timestamp(),
        step text DEFAULT current_setting('surroundings.step', true), trigger text, event text, relation text, old jsonb, new jsonb
    );
    CREATE FUNCTION users.relation_of(name text) RETURNS text LANGUAGE sql
        RETURN CASE WHEN name ~ '^job_history|^history' THEN 'job_history' ELSE name END;
    CREATE FUNCTION users.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO users.log (trigger, event, relation, old, new) VALUES (
            TG_NAME, concat_ws(' ', TG_WHEN, TG_OP), users.relation_of(TG_TABLE_NAME),
            CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
            CASE WHEN TG_LEVEL = 'ROW' AND TG_OP <> 'DELETE' THEN to_jsonb(NEW) END
        );
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END $$;
    CREATE FUNCTION users.nothing() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END $$;
    CREATE FUNCTION users.today() RETURNS text LANGUAGE sql RETURN (
        SELECT partition::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends
    );
"""
# By the names that sort first.
FORCE_USUAL = """
    CREATE TRIGGER "!usual" BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION users.nothing();
    CREATE TRIGGER "!usual" BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION users.nothing();
"""
BROKEN_INDEXES = """
    SELECT bt_index_check(index.indexrelid, heapallindexed => true)
    FROM pg_index AS index JOIN pg_class AS class ON class.oid = index.indexrelid JOIN pg_am ON pg_am.oid = class.relam
    WHERE pg_am.amname = 'btree' AND class.relkind = 'i' AND index.indisvalid AND (
        index.indrelid = 'turnstile.job'::regclass
        OR index.indrelid IN (SELECT relid FROM pg_partition_tree('turnstile.job_history'))
    )
"""
USERS_TABLES = (
    "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'users'::regnamespace AND relkind = 'r' AND NOT relispartition"
    " AND relname <> 'log' ORDER BY 1"
)


class Administrator:
    """Makes and drops databases on a connection that it keeps."""

    def __init__(self):
        self.conn: psycopg.Connection | None = None

    def run(self, statement: str, *names: str) -> None:
        self._connection().execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _connection(self) -> psycopg.Connection:
        """Waits for a server that recovers from a crash: the next surrounding is not to fail for the one before."""
        give_up = time.monotonic() + 60
        while True:
            try:
                self.conn = self.conn or server()
                self.conn.execute("SELECT 1")
                return self.conn
            except psycopg.OperationalError:
                self.conn = None
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)


administrator = Administrator()


def connect(name: str) -> psycopg.Connection:
    return psycopg.connect(dbname=name, autocommit=True, options=OPTIONS)


def leave_midnight_behind() -> None:
    """The partition of today must be that of today to the end."""
    left = 86_400 - time.time() % 86_400
    if left < 30:
        time.sleep(left + 1)


def make_template(name: str) -> None:
    administrator.run("CREATE DATABASE {} TEMPLATE template0 STRATEGY file_copy", name)
    with connect(name) as conn:
        conn.execute("CREATE EXTENSION turnstile; CREATE EXTENSION amcheck")
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone():
            conn.execute(f"CREATE ROLE {OWNER}")
        conn.execute(USERS)
        for statement in PRIOR:
            conn.execute(statement)
        act = Verbs(conn, {})
        prior(act)
        assert not any(isinstance(said, frozenset) for _, said in act.answers), act.answers


def drop(name: str) -> None:
    administrator.run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@contextlib.contextmanager
def copy_of(template: str):
    name = f"surroundings_{secrets.token_hex(6)}"
    administrator.run("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, template)
    try:
        yield name
    finally:
        drop(name)


def know_the_tables(conn: psycopg.Connection) -> None:
    """Has the connection find out what it keeps of the tables, and leaves them as they are."""
    conn.execute("BEGIN; SELECT turnstile.enqueue('early', '{}', queue => 'early')")
    for run in conn.execute("SELECT id, attempt FROM turnstile.claim_next('old')").fetchall():
        conn.execute("SELECT turnstile.complete(%s, %s)", run)
    conn.execute("ROLLBACK")


def surround(conn: psycopg.Connection, elements: list[Element]) -> list[str]:
    """Makes the elements; the names of those that do not go with the ones before them."""
    skipped = []
    for element in elements:
        try:
            for statement in element.statements:
                conn.execute(statement)
        except psycopg.Error as error:
            assert not conn.broken, f"the server broke down at {element.name}: {error}"
            skipped.append(f"{element.name}: {error.sqlstate}")
    conn.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA users TO {OWNER}; GRANT ALL ON ALL SEQUENCES IN SCHEMA users TO {OWNER}")
    return skipped


def go(way: str, template: str, elements: list[Element], knows_before: bool) -> Account:
    """One way through the script, and what it has left. `knows_before`: the connection has seen the tables without surroundings."""
    hooks: dict[str, list[str]] = {}
    for element in elements:
        for point, statement in element.by_hand.items():
            hooks.setdefault(point, []).append(statement)
    with copy_of(template) as name, connect(name) as conn:
        account = Account({column for element in elements for column in element.volatile}, conn.info.backend_pid)
        if knows_before:
            know_the_tables(conn)
        with connect(name) as user:
            account.skipped = surround(user, elements)
            if way == USUAL:
                user.execute(FORCE_USUAL)
        act = Plain(conn, hooks, _owner(conn)) if way == PLAIN else Verbs(conn, hooks)
        play(act)
        _read(conn, act, account)
        if isinstance(act, Plain):
            account.changed = act.changed
        return account


def _owner(conn: psycopg.Connection) -> str | None:
    """Whom plain SQL has to be, if not the user of the test."""
    query = (
        "SELECT relowner::regrole::text FROM pg_class WHERE oid = 'turnstile.job'::regclass AND relowner <> current_user::regrole"
    )
    found = conn.execute(query).fetchone()
    return found and found[0]


def _read(conn: psycopg.Connection, act, account: Account) -> None:
    account.answers = act.answers
    for point, rows in act.looks:
        account.look(point, rows)
    with conn.cursor(row_factory=dict_row) as cursor:
        for entry in cursor.execute("SELECT * FROM users.log ORDER BY seq").fetchall():
            account.effect(entry)
    (at,) = conn.execute("SELECT clock_timestamp()").fetchone()
    for (table,) in conn.execute(USERS_TABLES).fetchall():
        account.table(table, [row for (row,) in conn.execute(f"SELECT to_jsonb(t) FROM {table} AS t").fetchall()], at)
    account.problems += [f"check(): {row}" for row in conn.execute("SELECT * FROM turnstile.check()").fetchall()]
    try:
        conn.execute(BROKEN_INDEXES)
    except psycopg.Error as error:
        account.problems.append(f"amcheck: {error}")
