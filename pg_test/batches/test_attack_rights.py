"""Who may attach to whose parents, and see or set what of them."""

import json

import psycopg
import pytest
from psycopg import sql
from test_attack_ties import claim, enqueue_batch, scalar


@pytest.fixture
def tenant(db, conn):
    role = "turnstile_attack_tenant"
    conn.execute(f"DROP ROLE IF EXISTS {role}")
    conn.execute(f"CREATE ROLE {role} LOGIN")
    conn.execute("SELECT turnstile.allow_tenant(%s, %s)", [role, ["t1"]])
    conn.execute("SELECT turnstile.allow_producer(%s, tenants => %s)", [role, ["t1"]])
    caller = db.connect()
    caller.execute(sql.SQL("SET SESSION AUTHORIZATION {}").format(sql.Identifier(role)))
    yield caller
    caller.close()
    conn.execute(f"DROP OWNED BY {role}")
    conn.execute(f"DROP ROLE {role}")


def test_a_tenant_attaches_to_no_strangers_job(conn, tenant):
    parent = enqueue_batch(conn, [{"kind": "child"}], tenant="t2")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.enqueue('x', tenant => 't1', parent => %s)", [parent])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.enqueue('x', tenant => 't1', after => %s)", [[parent]])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT * FROM turnstile.batch_results(%s)", [parent])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.set_batch(%s, slots => 1)", [parent])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.enqueue_batch('x', tenant => 't2')")
    children = json.dumps([{"kind": "x", "tenant": "t2"}])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.enqueue_batch('x', tenant => 't1', children => %s)", [children])


def test_a_tenant_sees_no_results_of_strangers_children(conn, tenant):
    children = [{"kind": "own"}, {"kind": "foreign", "tenant": "t2", "payload": {"secret": 1}}]
    parent = enqueue_batch(conn, children, tenant="t1")
    found = tenant.execute("SELECT kind FROM turnstile.batch_results(%s)", [parent]).fetchall()
    assert found == [("own",)]


def test_a_tenants_cancel_reaches_strangers_children_only_through_its_own_parent(conn, tenant):
    parent = enqueue_batch(conn, [{"kind": "foreign", "tenant": "t2"}], tenant="t1")
    [child] = [job for job, _, _ in claim(conn)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tenant.execute("SELECT turnstile.cancel(%s)", [child])
    assert scalar(tenant, "SELECT turnstile.cancel(%s)", [parent]) == "blocked"
