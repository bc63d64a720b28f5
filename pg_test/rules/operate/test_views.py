"""The views of settings and live figures."""

from datetime import timedelta

import pytest
from psycopg.rows import dict_row

from support.calls import call, claim_next, complete, discard, enqueue, enqueue_times, fail, release

VIEWS = {
    "queues": ("set_queue", "max_running", {"queue": "mail"}, {"name": "mail"}),
    "tenants": ("set_tenant", "slots", {"tenant": "acme"}, {"name": "acme"}),
    "accounts": ("set_account", "slots", {"tenant": "acme", "account": "sales"}, {"tenant": "acme", "name": "sales"}),
    "concurrency_keys": ("set_concurrency", "slots", {"concurrency_key": "smtp"}, {"key": "smtp"}),
}
each_view = pytest.mark.parametrize("view", VIEWS)


def _rows(conn, view: str) -> list[dict]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"SELECT * FROM turnstile.{view}").fetchall()


def _row(conn, view: str) -> dict:
    """The row of the name that the tests are about."""
    key = VIEWS[view][3]
    [row] = [row for row in _rows(conn, view) if key.items() <= row.items()]
    return row


@each_view
def test_figures_follow_the_jobs(conn, view):
    behind = VIEWS[view][2]
    queue = behind.get("queue", "default")
    enqueue(conn, **behind, run_at="2100-01-01")
    enqueue_times(conn, 5, **behind)
    for end in (complete, discard, lambda conn, run: fail(conn, run, retry_in="1 hour"), lambda conn, run: None):
        end(conn, claim_next(conn, queue))
    enqueue(conn, queue="elsewhere", tenant="other", account="other", concurrency_key="other")
    row = _row(conn, view)
    figures = ("waiting", "scheduled", "retryable", "running", "free", "claimed_per_minute", "finished_per_minute")
    assert [row[name] for name in figures] == [1, 1, 1, 1, None, 4, 2]
    assert timedelta(0) < row["oldest_waiting"] < timedelta(minutes=10)


@each_view
def test_a_name_is_shown_with_a_row_or_with_live_jobs(conn, view):
    setter, limit, behind, key = VIEWS[view]
    assert _rows(conn, view) == []
    call(conn, setter, **key | {limit: 4})
    row = _row(conn, view)
    assert (row[limit], row["waiting"], row["running"], row["free"], row["oldest_waiting"]) == (4, 0, 0, 4, None)
    conn.execute("TRUNCATE turnstile.queue, turnstile.tenant, turnstile.account, turnstile.concurrency")
    assert _rows(conn, view) == []
    enqueue(conn, **behind)
    row = _row(conn, view)
    assert (row[limit], row["waiting"], row["free"]) == (None, 1, None)


@each_view
def test_what_is_inherited_is_filled_in(conn, view):
    setter, limit, behind, key = VIEWS[view]
    enqueue(conn, **behind)
    call(conn, setter, **dict.fromkeys(key, "*") | {limit: 9})
    assert _row(conn, view)[limit] == 9
    call(conn, setter, **key | {limit: -1})
    assert _row(conn, view)[limit] is None
    call(conn, setter, **key | {"clear": [limit]})
    assert _row(conn, view)[limit] == 9


@each_view
def test_free_is_never_less_than_nought(conn, view):
    setter, limit, behind, key = VIEWS[view]
    queue = behind.get("queue", "default")
    enqueue_times(conn, 3, **behind)
    first, _ = claim_next(conn, queue), claim_next(conn, queue)
    call(conn, setter, **key | {limit: 1})
    assert (_row(conn, view)["running"], _row(conn, view)["free"]) == (2, 0)
    release(conn, first)
    assert (_row(conn, view)["running"], _row(conn, view)["free"]) == (1, 0)
    call(conn, setter, **key | {limit: 3})
    assert _row(conn, view)["free"] == 2


@pytest.mark.parametrize("what", ["queue", "tenant", "account"])
def test_nothing_is_free_in_a_pause(conn, what):
    view = f"{what}s"
    setter, limit, behind, key = VIEWS[view]
    call(conn, setter, **key | {limit: 3})
    call(conn, f"pause_{what}", **key)
    assert (_row(conn, view)["paused"], _row(conn, view)["free"]) == (True, 0)
    call(conn, f"resume_{what}", **key)
    assert (_row(conn, view)["paused"], _row(conn, view)["free"]) == (False, 3)


def test_accounts_fall_back_to_the_default_of_their_tenant_then_of_all(conn):
    enqueue(conn, tenant="acme", account="sales")
    call(conn, "set_account", tenant="*", name="*", slots=7)
    assert _row(conn, "accounts")["slots"] == 7
    call(conn, "set_account", tenant="acme", name="*", slots=3)
    assert _row(conn, "accounts")["slots"] == 3


def test_a_view_needs_its_grant(conn, role, db):
    conn.execute(f'GRANT USAGE ON SCHEMA turnstile TO "{role}"')
    reader = db.connect()
    reader.execute(f'SET ROLE "{role}"')
    for view in VIEWS:
        with pytest.raises(Exception) as caught:
            reader.execute(f"SELECT * FROM turnstile.{view}")
        assert caught.value.sqlstate == "42501"
    conn.execute(f'GRANT SELECT ON turnstile.queues TO "{role}"; GRANT EXECUTE ON FUNCTION turnstile_internal.figures TO "{role}"')
    enqueue(conn, queue="mail")
    assert _row(reader, "queues")["waiting"] == 1


def _plan(conn, query: str) -> str:
    with conn.transaction():
        conn.execute("SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        return "\n".join(line for (line,) in conn.execute(f"EXPLAIN (COSTS off) {query}").fetchall())


@pytest.mark.parametrize("view", ["jobs", "job_status"])
def test_the_newest_jobs_are_found_by_index(conn, view):
    """However many there are: nobody sorts them all."""
    enqueue_times(conn, 3)
    plan = _plan(conn, f"SELECT id, state, waiting, running FROM turnstile.{view} WHERE id < 1000 ORDER BY id DESC LIMIT 2")
    assert "Merge Append" in plan
    assert "Sort  " not in plan
    assert "->  Sort" not in plan


@pytest.mark.parametrize("view", ["jobs", "job_status", "my_jobs"])
def test_live_jobs_are_found_without_the_history(conn, view):
    """By their state, where an index has it."""
    plan = _plan(conn, f"SELECT id, waiting FROM turnstile.{view} WHERE state = 'blocked' AND waits_for = 'jobs' AND finished_at IS NULL")
    assert "job_blocked_" in plan
    assert "job_history" not in plan
    ended = _plan(conn, f"SELECT id FROM turnstile.{view} WHERE finished_at IS NOT NULL")
    assert "job_pkey" not in ended
