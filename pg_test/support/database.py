"""Fresh databases with the extension, and connections to them that are closed with them."""

import contextlib
import os
import secrets
import time

import psycopg
from psycopg import sql

# No rule here is about time; these only turn a test that would hang into one that fails.
GUARDS = "-c statement_timeout=120s -c lock_timeout=30s -c client_min_messages=warning"


def server() -> psycopg.Connection:
    """A connection to the database that the environment names, to create and drop others."""
    if "PGHOST" not in os.environ:
        raise RuntimeError('no server to test: run eval "$(scripts/cluster env test)" or use make')
    return psycopg.connect("", autocommit=True)


class Database:
    """One database with the extension, and the connections opened to it."""

    def __init__(self, name: str):
        self.name = name
        self._connections: list[psycopg.Connection] = []

    def connect(self, autocommit: bool = True) -> psycopg.Connection:
        connection = psycopg.connect(dbname=self.name, autocommit=autocommit, options=GUARDS)
        self._connections.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


# Of this process's own: another may test another build.
TEMPLATE = f"turnstile_template_{os.getpid()}"


def _create(admin: psycopg.Connection, name: str, template: str, encoding: str | None = None) -> None:
    # Copying the files is quicker than logging them, where nothing waits for the disk.
    statement = "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy" + (" ENCODING {} LOCALE 'C'" if encoding else "")
    admin.execute(sql.SQL(statement).format(sql.Identifier(name), sql.Identifier(template), sql.Literal(encoding)))


def _drop(name: str) -> None:
    with server() as admin:
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _template(admin: psycopg.Connection) -> str:
    """A database that has the extension and was never used: copying it is quicker than CREATE EXTENSION."""
    if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone():
        _create(admin, TEMPLATE, "template0")
        with psycopg.connect(dbname=TEMPLATE, autocommit=True, options=GUARDS) as setup:
            setup.execute("CREATE EXTENSION turnstile")
    return TEMPLATE


def drop_template() -> None:
    _drop(TEMPLATE)


@contextlib.contextmanager
def fresh_database(extension: bool = True, encoding: str | None = None):
    """A new database, with the extension unless told otherwise, dropped when the block ends. One of another encoding has none."""
    name = f"turnstile_test_{secrets.token_hex(6)}"
    with server() as admin:
        _create(admin, name, "template0" if encoding or not extension else _template(admin), encoding)
    database = Database(name)
    try:
        yield database
    finally:
        database.close()
        _drop(name)


@contextlib.contextmanager
def checked_database():
    """A new database that must be in order when the block ends."""
    with fresh_database() as database:
        yield database
        assert disagreements(database) == [], "turnstile.check() found the scheduler's memory and the tables to differ"


def disagreements(database: Database) -> list:
    """What turnstile.check() says of a database once all its connections are gone."""
    database.close()
    with psycopg.connect(dbname=database.name, autocommit=True, options=GUARDS) as last:
        give_up = time.monotonic() + 60
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        while last.execute(others + " AND backend_type = 'client backend'").fetchone():
            assert time.monotonic() < give_up, "a closed connection's backend is still there"
            time.sleep(0.002)
        # Tests may leave triggers as they have made them.
        found = "SELECT * FROM turnstile.check() WHERE problem <> 'a trigger of the extension does not fire always'"
        return last.execute(found).fetchall()
