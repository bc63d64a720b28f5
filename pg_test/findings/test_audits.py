"""An extension that audits by the executor's hook sees what calls write."""

from pathlib import Path

import pytest

from faults.cluster import own_cluster
from support.calls import claim, claim_next, complete, complete_many, enqueue, enqueue_many, enqueue_times
from support.database import fresh_database, server

ACTS = {
    "enqueue": (lambda conn, run: enqueue(conn), ["INSERT"]),
    "enqueue_many": (lambda conn, run: enqueue_many(conn, [{"kind": "work"}]), ["INSERT"]),
    "claim_next": (lambda conn, run: claim_next(conn), ["UPDATE"]),
    "claim": (lambda conn, run: claim(conn, ["default"], 1), ["UPDATE"]),
    "complete": (complete, ["DELETE"]),
    "complete_many": (lambda conn, run: complete_many(conn, [run]), ["DELETE"]),
}


@pytest.fixture(scope="module")
def cluster():
    with server() as admin:
        (libraries,) = admin.execute("SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'").fetchone()
    if not Path(libraries, "pgaudit.so").exists():
        pytest.skip("this server has no pgaudit (Debian's package postgresql-15-pgaudit)")
    with own_cluster("findings_audit", fsync="off", shared_preload_libraries="turnstile,pgaudit") as cluster:
        yield cluster


@pytest.mark.parametrize("act", ACTS)
def test_what_a_call_writes_is_audited(cluster, act):
    work, operations = ACTS[act]
    with fresh_database() as db:
        conn = db.connect()
        conn.execute("CREATE EXTENSION pgaudit; DROP ROLE IF EXISTS auditor; CREATE ROLE auditor NOLOGIN")
        conn.execute("GRANT INSERT, UPDATE, DELETE ON turnstile.job TO auditor; SET pgaudit.role = 'auditor'")
        enqueue_times(conn, 2)
        run = claim_next(conn)
        before = len(cluster.log)
        work(conn, run)
        audited = [line for line in cluster.log[before:].splitlines() if "AUDIT: OBJECT" in line and "turnstile.job" in line]
        for operation in operations:
            assert any(f",{operation}," in line for line in audited), audited
