"""A library and a catalog that do not belong together: each call says so and changes nothing, and an upgrade helps."""

import contextlib

import pytest
from psycopg import errors

from findings.verbs import VERBS, warm
from support import rows
from support.calls import call, claim_next, complete, enqueue
from support.database import fresh_database
from support.scripts import CURRENT, installed, made_up, placed
from support.sleepers import Sleeper, await_asleep
from upgrades.script import beginning, upgrade_script

_VERSION = f"SELECT '{CURRENT}'"
OLDER, NEWER = "0.0.9", "99.0.0"
HINTS = {OLDER: "ALTER EXTENSION turnstile UPDATE", NEWER: "restart the server"}
STATEMENTS = {
    "insert": "INSERT INTO turnstile.job (kind, lane) VALUES ('work', 0)",
    "copy": "COPY turnstile.job (kind) FROM PROGRAM 'echo work'",
    "update": "UPDATE turnstile.job SET priority = 7",
    "delete": "DELETE FROM turnstile.job",
    "truncate": "TRUNCATE turnstile.job",
    "setting": "INSERT INTO turnstile.queue (name) VALUES ('other')",
    "setter": "SELECT turnstile.set_queue('other', max_running => 1)",
    "all settings": "TRUNCATE turnstile.tenant",
    "route": "INSERT INTO turnstile.route (pattern, queue) VALUES ('letter', 'mail')",
    "retry_curve": "INSERT INTO turnstile.retry_curve (kind, error_class) VALUES ('letter', '*')",
    "endpoint": "INSERT INTO turnstile.endpoint (pattern, url) VALUES ('letter', 'http://a.example')",
    "slowed key": "INSERT INTO turnstile.slowed_key (key, one_at_a_time) VALUES ('k', true)",
    "permission": "INSERT INTO turnstile.permission (role, verb, queue, tenant) VALUES ('pg_monitor', 'enqueue', '*', '*')",
    "wait": "CALL turnstile.wait_for_job(ARRAY['default'], '1 minute')",
}


def _say(conn, version: str) -> None:
    """The catalog says that it is of this version."""
    conn.execute(f"CREATE OR REPLACE FUNCTION turnstile.catalog_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT '{version}'$$")


@contextlib.contextmanager
def _refused(hint: str):
    with pytest.raises(errors.ObjectNotInPrerequisiteState) as refusal:
        yield
    assert hint in refusal.value.diag.message_hint
    assert CURRENT in refusal.value.diag.message_detail


@pytest.fixture(params=[OLDER, NEWER], ids=["older catalog", "newer catalog"])
def version(request):
    return request.param


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_each_call_refuses_and_changes_nothing(conn, other, version, verb):
    """One that knows the catalog notices at once, and serves it again once it fits."""
    warm(conn)
    subject = verb.prepare(conn)
    before = rows.everything(conn)
    _say(other, version)
    with _refused(HINTS[version]):
        verb.call(conn, subject)
    assert rows.everything(conn) == before
    _say(other, CURRENT)
    assert verb.call(conn, subject) == verb.answer


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_each_statement_refuses_and_changes_nothing(conn, other, version, statement):
    enqueue(conn)
    before = rows.everything(conn)
    _say(conn, version)
    for session in (conn, other):
        with _refused(HINTS[version]):
            session.execute(statement)
    assert rows.everything(conn) == before
    _say(conn, CURRENT)
    assert complete(other, claim_next(other)) is True


def test_it_can_be_looked_at_and_dropped(conn, version):
    enqueue(conn)
    _say(conn, version)
    assert conn.execute("SELECT turnstile.version(), turnstile.catalog_version()").fetchone() == (CURRENT, version)
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (1,)
    conn.execute("DROP EXTENSION turnstile; CREATE EXTENSION turnstile")
    assert claim_next(conn) is None
    assert enqueue(conn) > 0


@pytest.mark.parametrize("body", ["SELECT NULL", "SELECT ''", "", f"SELECT '{CURRENT}', 1"], ids=["null", "empty", "nothing", "another"])
def test_a_version_that_cannot_be_read_is_refused(conn, body):
    conn.execute("SET check_function_bodies = off")
    conn.execute(f"CREATE OR REPLACE FUNCTION turnstile.catalog_version() RETURNS text LANGUAGE sql IMMUTABLE AS $${body}$$")
    with _refused(HINTS[OLDER]):
        enqueue(conn)
    _say(conn, CURRENT)


def test_a_function_of_that_name_that_is_not_the_extensions_says_nothing(conn):
    conn.execute("ALTER EXTENSION turnstile DROP FUNCTION turnstile.catalog_version()")
    with _refused(HINTS[OLDER]):
        enqueue(conn)
    conn.execute("ALTER EXTENSION turnstile ADD FUNCTION turnstile.catalog_version()")
    assert enqueue(conn) > 0


# What an older release may have had: a function that the library no longer has, and one with other arguments.
_OTHERS = """
CREATE FUNCTION turnstile.gone() RETURNS int LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_version';
UPDATE pg_catalog.pg_proc SET prosrc = 'turnstile_gone' WHERE proname = 'gone';
CREATE FUNCTION turnstile.complete(job int) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_complete';
CREATE FUNCTION turnstile.claim() RETURNS SETOF turnstile.claimed_job LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_claim';
CREATE FUNCTION turnstile.enqueue_many(jobs int) RETURNS int LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_enqueue_many';
"""
_WITHOUT_OTHERS = """
DROP FUNCTION turnstile.gone(), turnstile.complete(int), turnstile.claim(), turnstile.enqueue_many(int);
"""


def test_an_older_catalog_is_refused_until_it_is_upgraded():
    older = made_up()
    script = f"{installed(CURRENT).replace(_VERSION, _VERSION.replace(CURRENT, OLDER))}{_OTHERS}"
    with placed(older, script), placed(f"{older}--{CURRENT}", upgrade_script(_WITHOUT_OTHERS)), fresh_database(extension=False) as database:
        conn, waiting = database.connect(), database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{older}'")
        for query in ("complete(7)", "claim()", "enqueue_many(1 << 30)", "enqueue('work')", "check()"):
            for session in (conn, waiting):
                with _refused(HINTS[OLDER]):
                    session.execute(f"SELECT turnstile.{query}")
        with pytest.raises(errors.UndefinedFunction):
            conn.execute("SELECT turnstile.gone()")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        enqueue(waiting)
        assert complete(waiting, claim_next(waiting)) is True
        assert call(conn, "check") == []


def test_an_upgrade_may_pass_versions_that_the_library_does_not_serve():
    """The scripts in between change jobs and settings as they need."""
    oldest, older = made_up(), made_up()
    work = "INSERT INTO turnstile.job (kind, lane) VALUES ('work', 0);\nINSERT INTO turnstile.queue (name) VALUES ('other');"
    of_older = upgrade_script(work).replace(_VERSION, _VERSION.replace(CURRENT, OLDER))
    with (
        placed(oldest, installed(CURRENT).replace(_VERSION, "SELECT '0.0.8'")),
        placed(f"{oldest}--{older}", of_older),
        placed(f"{older}--{CURRENT}", upgrade_script("UPDATE turnstile.job SET priority = 3;")),
        fresh_database(extension=False) as database,
    ):
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{oldest}'")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert call(conn, "check") == []
        assert claim_next(conn).priority == 3


def test_new_scripts_are_refused_by_a_server_that_was_not_restarted(conn):
    """Whatever else they need of the new library: the first thing that they do is to ask."""
    newer = made_up()
    newest = _VERSION.replace(CURRENT, NEWER)
    needs = "CREATE FUNCTION turnstile.gone() RETURNS int LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_gone';\n"
    upgrade = upgrade_script(needs).replace(_VERSION, newest)
    with placed(newer, f"{installed(CURRENT).replace(_VERSION, newest)}{needs}"), placed(f"{CURRENT}--{newer}", upgrade):
        with _refused("Restart the server"):
            conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{newer}'")
        with fresh_database(extension=False) as database, _refused("Restart the server"):
            database.connect().execute(f"CREATE EXTENSION turnstile VERSION '{newer}'")
    enqueue(conn)
    assert complete(conn, claim_next(conn)) is True


def test_a_version_with_a_suffix_is_that_of_its_numbers(conn):
    candidate = made_up()
    with placed(f"{CURRENT}--{candidate}", beginning().replace(_VERSION, f"SELECT '{CURRENT}-rc1'")):
        conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{candidate}'")
    with _refused(HINTS[OLDER]):
        enqueue(conn)
    _say(conn, CURRENT)


def test_a_worker_that_sleeps_goes_on_after_an_upgrade(db, conn, other):
    """Its claim began before."""
    sleeper = Sleeper(db.connect(), "SELECT id, attempt FROM turnstile.claim_next(wait => '1 minute')")
    await_asleep(conn, 1)
    after = made_up()
    with placed(f"{CURRENT}--{after}", upgrade_script("")):
        other.execute(f"ALTER EXTENSION turnstile UPDATE TO '{after}'")
    made = enqueue(other)
    assert sleeper.returned().rows == [(made, 1)]
