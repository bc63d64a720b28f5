"""What a transaction does to the table is nothing to the memory unless it commits."""

import contextlib

import psycopg
import pytest

from faults.witness import is_sound, within
from support import naive, rows
from support.calls import call, claim, claim_next, complete, complete_and_claim_next, enqueue, enqueue_times, fail
from support.settings import configure

REWRITES = {
    "truncate": "TRUNCATE turnstile.job",
    "truncate and insert": "TRUNCATE turnstile.job; INSERT INTO turnstile.job (kind, tenant) VALUES ('new', 'acme'), ('new', 'b')",
    "rewrite": "ALTER TABLE turnstile.job ADD COLUMN c uuid DEFAULT gen_random_uuid()",
    "other table": "ALTER TABLE turnstile.job SET UNLOGGED",
    "cluster": "CLUSTER turnstile.job USING job_pkey",
    "delete": "DELETE FROM turnstile.job",
}
ACTS = {
    "claim": lambda conn: claim_next(conn),
    "claim many": lambda conn: claim(conn, ["default"], 10),
    "rebuild": lambda conn: call(conn, "rebuild"),
    "rebuild and claim": lambda conn: (call(conn, "rebuild"), claim_next(conn)),
    "check": lambda conn: call(conn, "check"),
    "enqueue": lambda conn: enqueue(conn, tenant="e"),
    "enqueue and claim": lambda conn: (enqueue(conn, tenant="acme"), claim_next(conn)),
    "rescue": lambda conn: call(conn, "rescue"),
    "promote": lambda conn: call(conn, "promote"),
    "maintain": lambda conn: call(conn, "maintain"),
}
UNDONE = {
    "rolled back": ("BEGIN", "ROLLBACK"),
    "rolled back to a savepoint": ("BEGIN; SAVEPOINT s", "ROLLBACK TO SAVEPOINT s; COMMIT"),
    "in an inner savepoint": ("BEGIN; SAVEPOINT s; SAVEPOINT t", "RELEASE t; ROLLBACK TO s; COMMIT"),
}


def _fill(conn):
    """Lanes of several sorts, a full tenant, a run with a lease, one that is due later."""
    configure(conn, "tenant", "acme", slots=2)
    enqueue_times(conn, 3, tenant="acme")
    run = claim_next(conn, lease="1 hour")
    for tenant in ("b", "c"):
        enqueue(conn, tenant=tenant, session="s")
        enqueue(conn, tenant=tenant, session="s")
    enqueue(conn)
    enqueue(conn, run_at="2100-01-01")
    return run


def _is_as_before(conn, before):
    is_sound(conn)
    assert rows.everything(conn) == before
    naive.claim_all_as_predicted(conn, ["default"])
    within(conn, {"tenant acme": 2})
    assert rows.counts(conn) == {"running": 5, "available": 3, "scheduled": 1}
    is_sound(conn)


@pytest.mark.parametrize("undone", UNDONE.values(), ids=UNDONE.keys())
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
@pytest.mark.parametrize("rewrite", REWRITES.values(), ids=REWRITES.keys())
def test_all_jobs_are_claimable_afterwards(conn, other, rewrite, act, undone):
    begin, undo = undone
    _fill(conn)
    before = rows.everything(conn)
    conn.execute(f"{begin}; {rewrite}")
    act(conn)
    conn.execute(undo)
    _is_as_before(other, before)


@pytest.mark.parametrize("rewrite", ["truncate", "rewrite"])
def test_an_end_between_is_undone_too(conn, other, rewrite):
    run = _fill(conn)
    before = rows.everything(conn)
    for end in (complete, fail, complete_and_claim_next):
        conn.execute("BEGIN")
        end(conn, run)
        conn.execute(REWRITES[rewrite])
        claim_next(conn)
        conn.execute("ROLLBACK")
        is_sound(other)
    _is_as_before(other, before)


def test_a_server_that_ends_the_transaction_undoes_it_too(db, conn, other):
    _fill(conn)
    before = rows.everything(conn)
    gone = db.connect()
    gone.execute("BEGIN; TRUNCATE turnstile.job; SELECT turnstile.rebuild(); SELECT turnstile.claim_next()")
    other.execute("SELECT pg_terminate_backend(%s, 10000)", [gone.info.backend_pid])
    _is_as_before(other, before)


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_a_rewrite_that_commits_loses_nothing(conn, other, act):
    _fill(conn)
    made = conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0]
    conn.execute(f"BEGIN; {REWRITES['rewrite']}")
    act(conn)
    conn.execute("COMMIT")
    is_sound(other)
    naive.claim_all_as_predicted(other, ["default"])
    within(other, {"tenant acme": 2})
    is_sound(other)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE kind = 'work'").fetchone()[0] >= made


def test_a_truncate_that_commits_takes_all(conn, other):
    _fill(conn)
    conn.execute(f"BEGIN; {REWRITES['truncate']}")
    assert claim_next(conn) is None
    call(conn, "rebuild")
    conn.execute("COMMIT")
    is_sound(other)
    fresh = enqueue_times(other, 3, tenant="acme")
    assert [job.id for job in claim(other, ["default"], 10)] == fresh[:2]
    is_sound(other)


@pytest.mark.parametrize("rewrite", ["TRUNCATE turnstile.tenant", "ALTER TABLE turnstile.tenant ADD COLUMN c uuid DEFAULT gen_random_uuid()"])
@pytest.mark.parametrize("undone", UNDONE.values(), ids=UNDONE.keys())
def test_limits_of_settings_that_are_written_anew_are_not_learned(conn, other, rewrite, undone):
    """What holds for others cannot be told from there, so a claim that needs a limit is refused."""
    begin, undo = undone
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 3, tenant="acme")
    conn.execute("SELECT turnstile.rebuild()")
    conn.execute(f"{begin}; {rewrite}; SAVEPOINT claim")
    with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState):
        claim_next(conn)
    conn.execute("ROLLBACK TO claim; " + undo)
    assert len(claim(other, ["default"], 3)) == 1
    within(other, {"tenant acme": 1})
    is_sound(other)
