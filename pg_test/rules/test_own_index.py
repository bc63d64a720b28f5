"""The index for the newest jobs of a tenant, as docs/operations.md gives it: what it serves, and that calls and upkeep go on with it."""

import json

import pytest

from support.calls import call, claim, complete_many, enqueue, enqueue_many, fail, retry

INDEXES = """
CREATE INDEX my_job_tenant_idx ON turnstile.job (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX my_history_tenant_idx ON turnstile.job_history (tenant, id) WHERE tenant IS NOT NULL;
"""
NEWEST = "SELECT id FROM turnstile.{} WHERE tenant = 'acme' ORDER BY id DESC LIMIT 5"


@pytest.fixture
def indexed(conn):
    conn.execute(INDEXES)
    conn.execute("INSERT INTO turnstile.job (kind, tenant, queue) SELECT 'more', 'third', 'later' FROM generate_series(1, 3000)")
    enqueue_many(conn, [{"kind": "work", "tenant": tenant} for _ in range(60) for tenant in ("acme", "other")])
    runs = claim(conn, ["*"], 40)
    assert complete_many(conn, runs[:30]) == 30
    for run in runs[30:]:
        fail(conn, run, discard=True)
    conn.execute("ANALYZE turnstile.job, turnstile.job_history")
    return conn


@pytest.mark.parametrize("view", ["jobs", "my_jobs"])
def test_it_serves_live_and_finished_jobs_newest_first(indexed, view):
    indexed.execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
    plan = json.dumps(indexed.execute(f"EXPLAIN (FORMAT json) {NEWEST.format(view)}").fetchone()[0])
    assert "my_job_tenant_idx" in plan
    assert "tenant_id_idx" in plan
    # my_jobs looks at the permissions of each.
    assert view == "my_jobs" or '"Sort"' not in plan
    expected = indexed.execute("SELECT array_agg(id) FROM (SELECT id FROM turnstile.jobs WHERE tenant = 'acme' ORDER BY id DESC LIMIT 5) n").fetchone()
    assert [job for (job,) in indexed.execute(NEWEST.format(view)).fetchall()] == expected[0]


def test_all_goes_on_with_it(indexed):
    discarded = indexed.execute("SELECT min(id) FROM turnstile.job_history WHERE state = 'discarded'").fetchone()[0]
    assert retry(indexed, discarded) == "available"
    call(indexed, "rebuild")
    assert call(indexed, "check") == []
    while runs := claim(indexed, ["*"], 1000):
        assert complete_many(indexed, runs) == len(runs)
    assert indexed.execute("SELECT count(*) FROM turnstile.job").fetchone()[0] == 0
    assert call(indexed, "check") == []


def test_new_partitions_have_it(indexed):
    before = indexed.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'turnstile.my_history_tenant_idx'::regclass").fetchone()[0]
    assert call(indexed, "make_history_partitions", days_ahead=30)[0][0] > 0
    after = indexed.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'turnstile.my_history_tenant_idx'::regclass").fetchone()[0]
    assert after > before
    enqueue(indexed, tenant="acme")
