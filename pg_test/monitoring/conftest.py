"""A database with jobs of all sorts, and an exporter whose role may see figures only."""

import secrets

import pytest
from psycopg import sql

from monitoring import tools
from support.calls import call, claim_next, complete, discard, enqueue, enqueue_times, fail
from support.database import Database, fresh_database, server


@pytest.fixture(scope="module")
def monitored():
    """Shared by the tests of a module: none changes it but by work()."""
    with fresh_database() as database:
        conn = database.connect()
        call(conn, "set_queue", name="mail", max_running=5)
        conn.execute("INSERT INTO turnstile.tenant (name, slots) VALUES ('acme', 3)")
        enqueue(conn, queue="later", run_at="2999-01-01")
        call(conn, "pause_queue", name="later")
        work(database)
        yield database


def work(database: Database) -> None:
    """Something of all that is counted."""
    conn = database.connect()
    enqueue_times(conn, 9, queue="mail", tenant="acme")
    complete(conn, claim_next(conn, "mail"))
    discard(conn, claim_next(conn, "mail"))
    fail(conn, claim_next(conn, "mail"), retry_in="1 hour")
    fail(conn, claim_next(conn, "mail"), discard=True)
    complete(conn, claim_next(conn, "mail"))


@pytest.fixture(scope="module")
def exporter_role(monitored: Database):
    name = f"exporter_{secrets.token_hex(6)}"
    role = sql.Identifier(name)
    conn = monitored.connect()
    conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    conn.execute("SELECT turnstile.allow_monitor(%s::text::regrole)", [name])
    yield name
    conn.execute(sql.SQL("DROP OWNED BY {}").format(role))
    with server() as admin:
        admin.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.fixture(scope="module")
def exporter(monitored: Database, exporter_role: str, tmp_path_factory):
    with tools.exporter(monitored.name, exporter_role, tmp_path_factory.mktemp("exporter")) as port:
        yield port


@pytest.fixture(scope="module")
def prometheus(monitored: Database, exporter: int, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    with (
        tools.textfile(monitored.name, tmp_path_factory.mktemp("textfile")) as checked,
        tools.prometheus({"exporter": exporter, "checked": checked}, folder) as started,
    ):
        yield started
