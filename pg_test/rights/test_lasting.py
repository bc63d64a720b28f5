"""Permissions outlive what happens to a database and to its roles: dumps, renamed and dropped roles, another owner."""

import os
import subprocess

import psycopg
import pytest
from faults.cluster import binary
from psycopg import sql

from support.calls import call, claim_next, complete, enqueue
from support.database import fresh_database, server
from support.errors import NO_PRIVILEGE, refused


def _statement(text: str, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))


@pytest.fixture
def others(db, role):
    """More roles without any right."""
    names = [f"{role}_{number}" for number in range(3)]
    with server() as admin:
        for name in names:
            admin.execute(_statement("CREATE ROLE {}", name))
    yield names
    db.close()
    with server() as admin:
        admin.execute(_statement("DROP DATABASE {} WITH (FORCE)", db.name))
        for name in [role, *names]:
            admin.execute(_statement("DROP ROLE IF EXISTS {}", name))


@pytest.fixture
def role(db):
    return f"turnstile_lasting_{db.name.rsplit('_', 1)[1]}"


@pytest.fixture
def db():
    """Dropped by `others`, before its roles are."""
    with fresh_database() as database:
        yield database


def _as(session, name: str | None):
    session.execute("RESET ROLE" if name is None else _statement("SET ROLE {}", name))
    return session


def _allow(conn, what: str, role: str, *more) -> None:
    conn.execute(f"SELECT turnstile.{what}(%s::text::regrole{', %s' * len(more)})", [role, *more])


def _what_each_may(conn, roles) -> list:
    """By trying: a list of SQLSTATEs for each role."""
    found = []
    for name in roles:
        for statement in (
            "SELECT turnstile.enqueue('k', queue => 'mail')", "SELECT turnstile.enqueue('k', queue => 'sms')",
            "SELECT * FROM turnstile.claim_next('mail')", "SELECT * FROM turnstile.claim_next('sms')",
            "SELECT turnstile.cancel_many(tenant => 'acme')", "SELECT count(*) FROM turnstile.my_jobs",
            "SELECT turnstile.set_queue('mail')", "SELECT count(*) FROM turnstile.queues", "SELECT count(*) FROM turnstile.job",
        ):  # fmt: skip
            _as(conn, name)
            try:
                conn.execute(statement)
                found.append((name, statement, "00000"))
            except psycopg.Error as error:
                found.append((name, statement, error.sqlstate))
    _as(conn, None)
    return found


@pytest.mark.parametrize("options", [["-Fc"], ["-Fp"], ["-Fc", "--inserts"]], ids=["custom", "plain", "as inserts"])
def test_a_dump_carries_what_is_allowed_and_what_is_not(db, others, tmp_path, options):
    conn = db.connect()
    producer, worker, closed = others
    _allow(conn, "allow_producer", producer, ["mail"])
    _allow(conn, "allow_worker", worker, ["mail"])
    _allow(conn, "allow_tenant", worker, ["acme"])
    # One who may call everything, and has lost his only row.
    conn.execute(_statement("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}", closed))
    before = _what_each_may(conn, others)
    rows = conn.execute("SELECT p::text FROM turnstile.permission p ORDER BY 1").fetchall()
    path = os.fspath(tmp_path / "dump")
    subprocess.run([binary(conn, "pg_dump"), *options, "-f", path, db.name], check=True)
    with fresh_database(extension=False) as copy:
        command = ["pg_restore", "--exit-on-error", "-d", copy.name, path]
        if "-Fp" in options:
            command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", copy.name, "-f", path]
        done = subprocess.run([binary(conn, command[0]), *command[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        restored = copy.connect()
        assert restored.execute("SELECT p::text FROM turnstile.permission p ORDER BY 1").fetchall() == rows
        assert _what_each_may(restored, others) == before
    states = {state for *_, state in before}
    assert states == {"00000", NO_PRIVILEGE}
    assert all(state == NO_PRIVILEGE for name, _, state in before if name == closed)


def test_a_role_that_is_renamed_keeps_what_it_may(db, others):
    conn, session = db.connect(), db.connect()
    old, new = others[0], f"{others[0]}_renamed"
    _allow(conn, "allow_producer", old, ["mail"])
    enqueue(_as(session, old), queue="mail")
    conn.execute(_statement("ALTER ROLE {} RENAME TO {}", old, new))
    try:
        assert enqueue(session, queue="mail")
        assert conn.execute("SELECT role FROM turnstile.permissions").fetchall() == [(new,)]
        # Who is given the old name is somebody else.
        conn.execute(_statement("CREATE ROLE {}", old))
        conn.execute(_statement("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}", old))
        with refused(NO_PRIVILEGE):
            enqueue(_as(session, old), queue="mail")
        _as(session, None)
        conn.execute(_statement("DROP OWNED BY {0}; DROP ROLE {0}", old))
    finally:
        _as(session, None)
        conn.execute(_statement("ALTER ROLE {} RENAME TO {}", new, old))


def test_rows_of_a_dropped_role_mean_no_role(db, others, tmp_path):
    conn = db.connect()
    gone, stays, _ = others
    for name in (gone, stays):
        _allow(conn, "allow_producer", name, ["mail"])
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        conn.execute(_statement("DROP ROLE {}", gone))
    number = conn.execute("SELECT %s::text::regrole::oid::text", [gone]).fetchone()[0]
    conn.execute(_statement("DROP OWNED BY {0}; DROP ROLE {0}", gone))
    assert conn.execute("SELECT role, role_exists FROM turnstile.permissions ORDER BY 2").fetchall() == [(number, False), (stays, True)]
    assert enqueue(_as(conn, stays), queue="mail")
    _as(conn, None)
    # In another server the number would be that of somebody.
    path = os.fspath(tmp_path / "dump.sql")
    subprocess.run([binary(conn, "pg_dump"), "-f", path, db.name], check=True)
    with open(path) as dump:
        text = dump.read()
    assert f"\n{number}\tenqueue" not in text
    assert f"\n{stays}\tenqueue" in text
    _allow(conn, "disallow", others[2])
    assert conn.execute("SELECT role FROM turnstile.permissions").fetchall() == [(stays,)]


def test_another_owner(others):
    """REASSIGN OWNED: calls have the rights of the new one from the next call on, the old one is nobody."""
    old, new, producer = others
    with server() as admin:
        admin.execute(_statement("ALTER ROLE {} SUPERUSER", old))
    try:
        with fresh_database(extension=False) as own:
            conn, session = own.connect(), own.connect()
            _as(conn, old).execute("CREATE EXTENSION turnstile")
            _allow(conn, "allow_producer", producer, ["mail"])
            _allow(conn, "allow_worker", producer, ["mail"])
            _as(session, producer)
            enqueue(session, queue="mail")
            _as(conn, None).execute(_statement("REASSIGN OWNED BY {} TO {}", old, new))
            conn.execute(_statement("ALTER ROLE {} NOSUPERUSER", old))
            assert enqueue(session, queue="mail")
            assert complete(session, claim_next(session, "mail"))
            with refused(NO_PRIVILEGE):
                enqueue(session, queue="sms")
            assert enqueue(_as(session, new), queue="sms")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                enqueue(_as(session, old), queue="sms")
            _as(conn, None)
    finally:
        with server() as admin:
            admin.execute(_statement("ALTER ROLE {} NOSUPERUSER", old))


def test_a_role_that_may_not_grant_allows_no_role(db, others):
    conn = db.connect()
    helper, other, _ = others
    conn.execute(_statement("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}", helper))
    _as(conn, helper)
    for what, more in (("allow_producer", ()), ("allow_worker", ()), ("allow_tenant", (["acme"],)), ("allow_operator", ()), ("disallow", ())):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _allow(conn, what, other, *more)
    _as(conn, None)
    assert conn.execute("TABLE turnstile.permission").fetchall() == []


BAD = {
    "allow_producer(NULL)": "22004", "allow_producer('{r}', NULL)": "22004", "allow_producer('{r}', '{{NULL}}')": "22004",
    "allow_producer('{r}', '{{}}')": "22023", "allow_producer('{r}', '{{\"\"}}')": "22023",
    "allow_producer('{r}', ARRAY[repeat('x', 256)])": "54000", "allow_worker('{r}', '{{}}')": "22023",
    "allow_tenant('{r}', NULL)": "22004", "allow_tenant('{r}', '{{}}')": "22023", "allow_operator(NULL)": "22004",
    "disallow(NULL)": "22004", "allow_worker('nobody_at_all')": "42704", "allow_worker('public')": "42704",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_nonsense_is_refused(db, others, text):
    conn = db.connect()
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(f"SELECT turnstile.{text.format(r=others[0])}")
    assert caught.value.sqlstate == BAD[text]
    assert conn.execute("TABLE turnstile.permission").fetchall() == []


def test_disallow_takes_everything(db, others):
    conn = db.connect()
    name = others[0]
    for what, more in (("allow_producer", ()), ("allow_worker", ()), ("allow_tenant", (["acme"],)), ("allow_operator", ()), ("allow_monitor", ())):
        _allow(conn, what, name, *more)
    assert all(state == "00000" for *_, statement, state in _what_each_may(conn, [name]) if "turnstile.job" not in statement.replace("job_", ""))
    _allow(conn, "disallow", name)
    assert {state for *_, state in _what_each_may(conn, [name])} == {NO_PRIVILEGE}
    conn.execute(_statement("DROP ROLE {}", name))


def test_names_that_have_to_be_quoted(db, others):
    conn, session = db.connect(), db.connect()
    odd = f'{others[0]} "odd" \'name\''
    conn.execute(_statement("CREATE ROLE {}", odd))
    try:
        conn.execute(_statement("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}", odd))
        for queue in ("a 'b' \"c\" \\d {e}", "null", "mail"):
            _as(session, odd)
            with refused(NO_PRIVILEGE) as caught:
                enqueue(session, queue=queue, tenant=queue)
            conn.execute(caught.value.diag.message_hint)
            assert enqueue(session, queue=queue, tenant=queue), "the hint is the call to make"
            with refused(NO_PRIVILEGE) as caught:
                claim_next(session, queue)
            conn.execute(caught.value.diag.message_hint)
            assert claim_next(session, queue)
        with refused(NO_PRIVILEGE) as caught:
            call(session, "rescue")
        conn.execute(caught.value.diag.message_hint)
        call(session, "rescue")
        _as(session, None)
    finally:
        conn.execute(_statement("DROP OWNED BY {0}; DROP ROLE {0}", odd))
