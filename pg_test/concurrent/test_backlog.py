"""A backlog in front that may not run hides nobody: the next claim goes to whoever may."""

import pytest

from support.calls import claim_all, claim_next, complete, enqueue, ids
from support.crew import together
from support.settings import configure

WAITING = 100_000

# What holds the backlog back, the columns that put it there, and how many of it may run.
HELD_BY = {
    "a full tenant": ({"tenant": "acme"}, ("tenant", ["acme"], {"slots": 2}), 2),
    "a tenant without slots": ({"tenant": "acme"}, ("tenant", ["acme"], {"slots": 0}), 0),
    "a paused tenant": ({"tenant": "acme"}, ("tenant", ["acme"], {"paused": True}), 0),
    "a full account": ({"tenant": "acme", "account": "sales"}, ("account", ["acme", "sales"], {"slots": 2}), 2),
    "a full concurrency key": ({"concurrency_key": "smtp"}, ("concurrency", ["smtp"], {"slots": 1}), 1),
    "a session": ({"session": "chat-1"}, None, 1),
}


def _enqueue_backlog(conn, behind: dict) -> None:
    columns = ", ".join(behind)
    values = ", ".join(["%s"] * len(behind))
    conn.execute(
        f"INSERT INTO turnstile.job (queue, kind, priority, {columns})"
        f" SELECT 'default', 'backlog', n %% 7 - 10, {values} FROM generate_series(1, {WAITING}) n",
        list(behind.values()),
    )


@pytest.mark.parametrize(("behind", "limit", "may_run"), HELD_BY.values(), ids=HELD_BY.keys())
def test_a_backlog_that_may_not_run_hides_no_other_job(db, conn, behind, limit, may_run):
    if limit:
        table, key, columns = limit
        configure(conn, table, *key, **columns)
    _enqueue_backlog(conn, behind)
    running = claim_all(conn)
    assert len(running) == may_run
    for tenant in ("globex", None, "initech"):
        job_id = enqueue(conn, tenant=tenant)
        assert claim_next(conn).id == job_id
        assert claim_next(conn) is None
    # The same for many at once, each with a job of its own to find.
    made = [enqueue(conn, tenant=f"t{n}") for n in range(16)]
    taken = together([lambda: claim_next(db.connect())] * 16)
    assert sorted(ids(taken)) == made
    if running:
        complete(conn, running[0])
        assert claim_next(conn).kind == "backlog", "and the backlog has not been forgotten"


def test_full_tenants_by_the_thousand_hide_no_other_job(conn):
    configure(conn, "tenant", "*", slots=0)
    configure(conn, "tenant", "globex", slots=1)
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant)"
        " SELECT 'default', 'backlog', 'full-' || n % 2000 FROM generate_series(1, 10000) n"
    )
    for _ in range(5):
        job_id = enqueue(conn, tenant="globex")
        run = claim_next(conn)
        assert run.id == job_id
        assert claim_next(conn) is None
        complete(conn, run)
