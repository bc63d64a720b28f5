"""DROP EXTENSION leaves nothing: neither in the catalogs of the database and of the server, nor in shared memory.

That of an extension that was restored, which has an event trigger: faults/test_dumps_own_changes.py.
"""

import psycopg
import pytest
from psycopg import sql

from findings.verbs import warm
from support.calls import call, claim_next, enqueue_times
from support.database import fresh_database, server

# What VACUUM and ANALYZE of the server change by themselves.
VOLATILE = "{relpages,reltuples,relallvisible,relfrozenxid,relminmxid,relallfrozen}"
# Statistics of the catalogs, and what belongs to other databases.
LEFT_OUT = ["pg_statistic", "pg_database", "pg_shdepend"]


def _facts(conn) -> dict[str, set[str]]:
    """All rows of all catalogs, by catalog."""
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND relname <> ALL (%s)"
    names = [name for (name,) in conn.execute(query, [LEFT_OUT])]
    rows = sql.SQL("SELECT (to_jsonb(t) - {}::text[])::text FROM pg_catalog.{} AS t")
    facts = {name: {row for (row,) in conn.execute(rows.format(VOLATILE, sql.Identifier(name)))} for name in names}
    here = "SELECT to_jsonb(d)::text FROM pg_shdepend AS d WHERE dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))"
    return facts | {"pg_shdepend": {row for (row,) in conn.execute(here)}}


def _differences(before: dict[str, set[str]], after: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: before[name] ^ after[name] for name in before if before[name] != after[name]}


@pytest.fixture
def bare():
    """A database without the extension."""
    with fresh_database(extension=False) as database:
        yield database


def _use(conn, role: str) -> None:
    """Jobs, settings, history and rights of all kinds."""
    warm(conn)
    call(conn, "set_tenant", name="acme", slots=2)
    enqueue_times(conn, 3, tenant="acme", session="s", unique_key="k", unique_mode="until_executed")
    claim_next(conn)
    call(conn, "maintain")
    for verb in ("allow_producer", "allow_worker", "allow_operator", "allow_monitor"):
        conn.execute(sql.SQL("SELECT turnstile.{}({})").format(sql.Identifier(verb), sql.Literal(role)))
    conn.execute(sql.SQL("SELECT turnstile.allow_tenant({}, '{{acme}}')").format(sql.Literal(role)))


def test_it_leaves_nothing_in_the_catalogs(bare, role):
    conn = bare.connect()
    before = _facts(conn)
    conn.execute("CREATE EXTENSION turnstile")
    _use(conn, role)
    added = _differences(before, _facts(conn))
    assert {"pg_namespace", "pg_class", "pg_proc", "pg_trigger", "pg_shdepend"} <= set(added)
    conn.execute("DROP EXTENSION turnstile")
    assert _differences(before, _facts(conn)) == {}
    with server() as admin:
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_it_gives_back_its_memory(db, bare):
    conn = bare.connect()
    conn.execute("CREATE EXTENSION turnstile")
    enqueue_times(conn, 100, queue="q")
    claim_next(conn, "q")
    memory = "SELECT lanes, gates FROM turnstile.memory WHERE database = %s"
    watching = db.connect()
    assert watching.execute(memory, [bare.name]).fetchone()[0] > 0
    conn.execute("DROP EXTENSION turnstile")
    assert watching.execute(memory, [bare.name]).fetchone() in (None, (0, 0))


def test_what_users_have_built_on_it_stops_it(bare):
    conn = bare.connect()
    conn.execute("CREATE EXTENSION turnstile; CREATE VIEW mine AS SELECT id FROM turnstile.job; CREATE TABLE turnstile.mine ()")
    for own in ("VIEW mine", "TABLE turnstile.mine"):
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            conn.execute("DROP EXTENSION turnstile")
        conn.execute(f"DROP {own}")
    conn.execute("DROP EXTENSION turnstile")


def test_its_schema_goes_only_with_it(conn):
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        conn.execute("DROP SCHEMA turnstile CASCADE")
