"""Upgrades by another role than the owner of the extension, and beside users' own objects in its schema."""

import secrets

import pytest
from psycopg import sql

from support.database import fresh_database, server
from support.scripts import CURRENT, releases
from upgrades import next as following

_OTHERS = """
WITH member AS (
    SELECT dep.classid, dep.objid, ext.extowner FROM pg_depend AS dep JOIN pg_extension AS ext ON ext.oid = dep.refobjid
    WHERE dep.refclassid = 'pg_extension'::regclass AND dep.deptype = 'e' AND ext.extname = 'turnstile'
)
SELECT pg_describe_object(classid, objid, 0)
FROM member LEFT JOIN pg_class ON classid = 'pg_class'::regclass AND pg_class.oid = objid
LEFT JOIN pg_proc ON classid = 'pg_proc'::regclass AND pg_proc.oid = objid
LEFT JOIN pg_type ON classid = 'pg_type'::regclass AND pg_type.oid = objid
WHERE coalesce(relowner, proowner, typowner) <> extowner
"""
_GRANTEES = """
SELECT DISTINCT acl.grantee::regrole::text FROM pg_proc, aclexplode(proacl) AS acl
WHERE proname = 'claim_next' AND pronamespace = 'turnstile'::regnamespace AND pronargs > 1 AND acl.grantee <> proowner
"""


@pytest.fixture
def owner():
    name = f"turnstile_owner_{secrets.token_hex(6)}"
    with server() as admin:
        admin.execute(sql.SQL("CREATE ROLE {} SUPERUSER NOLOGIN").format(sql.Identifier(name)))
    yield name
    with server() as admin:
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def _installed_by(conn, owner: str, version: str = CURRENT) -> None:
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(owner)))
    conn.execute(f"CREATE EXTENSION turnstile VERSION '{version}'")
    conn.execute("RESET ROLE")


def test_what_an_upgrade_makes_belongs_to_the_owner_of_the_extension(owner):
    """Else functions of one schema work with the rights of two roles, and the owner cannot grant what is new."""
    with following.release() as version, following.upgrade_to(version), fresh_database(extension=False) as database:
        conn = database.connect()
        _installed_by(conn, owner)
        conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{version}'")
        assert conn.execute("SELECT to_regclass('turnstile.region') IS NOT NULL").fetchone() == (True,)
        assert conn.execute(_OTHERS).fetchall() == []


def test_an_owner_who_is_no_superuser_grants_what_an_upgrade_made(owner, worker_role):
    with fresh_database(extension=False) as database:
        conn = database.connect()
        _installed_by(conn, owner, releases()[0])
        conn.execute(sql.SQL("REASSIGN OWNED BY {} TO {}").format(sql.Identifier(owner), sql.Identifier(worker_role)))
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(worker_role)))
        conn.execute("SELECT turnstile.allow_operator('pg_monitor')")
        granted = "SELECT has_function_privilege('pg_monitor', 'turnstile.recent(text, int)', 'EXECUTE')"
        assert conn.execute(granted).fetchone() == (True,)


@pytest.mark.parametrize("release", [release for release in releases() if release != CURRENT])
def test_a_users_function_gives_its_grants_to_no_function_of_the_extension(release, worker_role):
    """One of the same name with other arguments. PUBLIC may call it, as it may call each function that a user makes."""
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{release}'")
        conn.execute("CREATE FUNCTION turnstile.claim_next(mine int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
        conn.execute(sql.SQL("GRANT EXECUTE ON FUNCTION turnstile.claim_next(int) TO {}").format(sql.Identifier(worker_role)))
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert conn.execute(_GRANTEES).fetchall() == []


@pytest.mark.parametrize("release", [release for release in releases() if release != CURRENT])
def test_a_users_type_stays_usable(release):
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{release}'")
        conn.execute("CREATE TYPE turnstile.mine AS (a int)")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert conn.execute("SELECT typacl FROM pg_type WHERE oid = 'turnstile.mine'::regtype").fetchone() == (None,)


@pytest.mark.parametrize("release", [release for release in releases() if release != CURRENT])
def test_those_who_complete_and_claim_one_job_may_do_so_with_many(release, worker_role):
    one = "turnstile.complete_and_claim_next(bigint, int, jsonb, text, text, interval, boolean, interval)"
    many = "turnstile.complete_and_claim(bigint[], int[], text[], int, text, interval, boolean, interval, jsonb[])"
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{release}'")
        conn.execute(sql.SQL(f"GRANT EXECUTE ON FUNCTION {one} TO {{}}").format(sql.Identifier(worker_role)))
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        may = "SELECT has_function_privilege(%s, %s, 'EXECUTE'), has_function_privilege('pg_monitor', %s, 'EXECUTE')"
        assert conn.execute(may, [worker_role, many, many]).fetchone() == (True, False)


NEW_VERBS = """
SELECT array_agg(proname::text ORDER BY 1)
FROM pg_proc
WHERE pronamespace = 'turnstile'::regnamespace AND proname ~ '(endpoint|_concurrency|heartbeat)'
    AND proname NOT IN ('endpoints_changed', 'set_concurrency') AND has_function_privilege(%s, oid, 'EXECUTE')
"""
WORKS = ["endpoint_of", "heartbeat", "heartbeat_many", "report_endpoint"]
OPERATES = ["drop_endpoint", "endpoint_of", "pause_concurrency", "resume_concurrency", "set_endpoint"]


@pytest.mark.parametrize("release", [release for release in releases() if release != CURRENT])
@pytest.mark.parametrize(("kind", "verbs", "writes"), [("worker", WORKS, False), ("operator", OPERATES, True), ("producer", None, False)])
def test_those_who_work_or_operate_may_do_so_with_endpoints(release, worker_role, kind, verbs, writes):
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{release}'")
        # What allow_... has granted: it cannot be called before the upgrade.
        home = "turnstile" if release == "0.1.0" else "turnstile_internal"
        for privileges, name in conn.execute(f"SELECT privileges, object FROM {home}.rights_of(%s)", [kind]).fetchall():
            what = "ROUTINE" if privileges == "EXECUTE" else "TABLE"
            conn.execute(f"GRANT {privileges} ON {what} turnstile.{name} TO {worker_role}")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert conn.execute(NEW_VERBS, [worker_role]).fetchone() == (verbs,)
        may_use = "SELECT has_schema_privilege(%s, 'turnstile_internal', 'USAGE')"
        assert conn.execute(may_use, [worker_role]).fetchone() == (kind == "operator",)
        may_write = "SELECT has_table_privilege(%s, %s, 'SELECT') AND has_table_privilege(%s, %s, 'INSERT')"
        for table in ("turnstile.endpoint", "turnstile.slowed_key"):
            assert conn.execute(may_write, [worker_role, table, worker_role, table]).fetchone() == (writes,)
        assert conn.execute(NEW_VERBS, ["pg_monitor"]).fetchone() == (None,)


@pytest.mark.parametrize("release", [release for release in releases() if release != CURRENT])
def test_who_only_reads_routes_or_calls_a_users_function_gets_nothing_new(release, worker_role):
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{release}'")
        conn.execute("CREATE FUNCTION turnstile.heartbeat(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
        conn.execute("REVOKE ALL ON FUNCTION turnstile.heartbeat(int) FROM PUBLIC")
        conn.execute(f"GRANT EXECUTE ON FUNCTION turnstile.heartbeat(int) TO {worker_role}; GRANT SELECT ON turnstile.route TO {worker_role}")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        assert conn.execute(NEW_VERBS, [worker_role]).fetchone() == (["heartbeat"],)
        assert conn.execute("SELECT has_table_privilege(%s, 'turnstile.endpoint', 'SELECT')", [worker_role]).fetchone() == (False,)
