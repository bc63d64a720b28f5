"""Paused queues, tenants and accounts start nothing, and hide nothing of others."""

import time

import pytest

from rules.test_plans_in_use import watch
from support import rows
from support.calls import call, claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.gates import ACCOUNT, QUEUE, TENANT
from support.plans import PLANNED, read_whole
from support.settings import configure, unconfigure

PAUSABLE = {"queue": QUEUE, "tenant": TENANT, "account": ACCOUNT}
each_pausable = pytest.mark.parametrize("gate", PAUSABLE.values(), ids=PAUSABLE.keys())


def _pause(conn, gate, paused=True):
    configure(conn, gate.table, *gate.key, paused=paused)


@each_pausable
def test_nothing_paused_is_claimed_and_all_of_it_is_once_resumed(conn, gate):
    enqueued = enqueue_times(conn, 3, **gate.behind)
    _pause(conn, gate)
    assert claim_all(conn, gate.queue) == []
    enqueued += enqueue_times(conn, 2, **gate.behind)
    assert claim_all(conn, gate.queue) == []
    _pause(conn, gate, False)
    assert ids(claim_all(conn, gate.queue)) == enqueued


@each_pausable
def test_a_pause_interrupts_no_run(conn, gate):
    enqueue_times(conn, 2, **gate.behind)
    run = claim_next(conn, gate.queue)
    _pause(conn, gate)
    assert rows.state(conn, run.id) == "running"
    assert complete(conn, run)
    assert claim_next(conn, gate.queue) is None


@each_pausable
def test_what_is_paused_hides_no_other_job(conn, gate):
    _pause(conn, gate)
    enqueue_times(conn, 10, **gate.behind)
    free = [enqueue(conn), enqueue(conn, tenant="globex"), enqueue(conn, tenant="globex", account="sales")]
    assert ids(claim_all(conn)) == free


@each_pausable
def test_a_pause_keeps_the_limit(conn, gate):
    gate.limit(conn, 1)
    enqueue_times(conn, 3, **gate.behind)
    _pause(conn, gate)
    _pause(conn, gate, False)
    assert len(claim_all(conn, gate.queue)) == 1


@each_pausable
def test_a_deleted_row_no_longer_pauses(conn, gate):
    enqueue(conn, **gate.behind)
    _pause(conn, gate)
    assert claim_next(conn, gate.queue) is None
    unconfigure(conn, gate.table, *gate.key)
    assert claim_next(conn, gate.queue) is not None


@each_pausable
def test_a_pause_rolled_back_never_was(conn, other, gate):
    enqueue_times(conn, 2, **gate.behind)
    conn.execute("BEGIN")
    _pause(conn, gate)
    assert claim_next(other, gate.queue) is not None
    conn.execute("ROLLBACK")
    assert claim_next(other, gate.queue) is not None


@each_pausable
def test_the_star_row_pauses_names_without_a_row(conn, gate):
    configure(conn, gate.table, *gate.default_key, paused=True)
    enqueue(conn, **gate.behind)
    assert claim_next(conn, gate.queue) is None
    _pause(conn, gate, False)
    assert claim_next(conn, gate.queue) is not None


def test_a_paused_tenant_is_paused_with_all_its_accounts_in_every_queue(conn):
    configure(conn, "tenant", "acme", paused=True)
    for queue in ("a", "b"):
        enqueue(conn, queue=queue, tenant="acme")
        enqueue(conn, queue=queue, tenant="acme", account="sales")
        assert claim_all(conn, queue) == []


@each_pausable
@pytest.mark.parametrize("until", ["1 hour", "infinity"])
def test_nothing_paused_until_a_time_starts_before_it(conn, gate, until):
    jobs = enqueue_times(conn, 2, **gate.behind)
    free = enqueue(conn, tenant="globex")
    configure(conn, gate.table, *gate.key, paused_until=_time(conn, until))
    assert claim_all(conn, "mail") == []
    assert ids(claim_all(conn)) == [free]
    configure(conn, gate.table, *gate.key, paused_until=None)
    assert ids(claim_all(conn, gate.queue)) == jobs


@each_pausable
def test_a_pause_that_is_over_pauses_nothing(conn, gate):
    jobs = enqueue_times(conn, 2, **gate.behind)
    configure(conn, gate.table, *gate.key, paused_until=_time(conn, "-1 hour"))
    assert ids(claim_all(conn, gate.queue)) == jobs


@each_pausable
def test_a_pause_ends_by_itself_and_not_before(conn, gate):
    job = enqueue(conn, **gate.behind)
    until = _time(conn, "400 milliseconds")
    configure(conn, gate.table, *gate.key, paused_until=until)
    while (run := claim_next(conn, gate.queue)) is None:
        time.sleep(0.01)
    assert run.id == job
    assert conn.execute("SELECT claimed_at >= %s FROM turnstile.job WHERE id = %s", [until, job]).fetchone() == (True,)


def _time(conn, offset: str):
    if offset == "infinity":
        return offset
    return conn.execute("SELECT clock_timestamp() + %s::interval", [offset]).fetchone()[0]


def _pause_session(conn, session, until="infinity", queue="default", tenant="acme"):
    conn.execute(
        "INSERT INTO turnstile.paused_session (queue, tenant, session, until) VALUES (%s, %s, %s, %s)",
        [queue, tenant, session, until],
    )


@pytest.mark.parametrize("known", [True, False], ids=["known before", "new"])
@pytest.mark.parametrize("tenant", ["acme", None])
def test_a_paused_session_starts_nothing_and_the_others_go_on(conn, known, tenant):
    if known:
        enqueue(conn, tenant=tenant, session="s1")
        complete(conn, claim_next(conn))
    _pause_session(conn, "s1", tenant=tenant)
    held = enqueue_times(conn, 2, tenant=tenant, session="s1")
    free = [enqueue(conn, tenant=tenant, session="s2"), enqueue(conn, tenant="globex", session="s1")]
    assert ids(claim_all(conn)) == free
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn) is None
    conn.execute("DELETE FROM turnstile.paused_session")
    run = claim_next(conn)
    assert run.id == held[0]
    complete(conn, run)
    assert claim_next(conn).id == held[1]


def test_the_pause_of_a_session_ends_by_itself_or_with_the_table(conn):
    held = [enqueue(conn, tenant="acme", session="s1"), enqueue(conn, tenant="acme", session="s2")]
    _pause_session(conn, "s1")
    _pause_session(conn, "s2")
    assert claim_next(conn) is None
    soon = _time(conn, "300 milliseconds")
    conn.execute("UPDATE turnstile.paused_session SET until = %s WHERE session = 's1'", [soon])
    while (run := claim_next(conn)) is None:
        time.sleep(0.01)
    assert run.id == held[0]
    conn.execute("TRUNCATE turnstile.paused_session")
    assert claim_next(conn).id == held[1]


def test_the_pause_of_a_session_rolled_back_never_was(conn):
    enqueue(conn, tenant="acme", session="s1")
    with conn.transaction(force_rollback=True):
        _pause_session(conn, "s1")
    assert claim_next(conn)


def test_pauses_of_sessions_that_are_over_go_in_passing_and_nobody_waits_for_them(conn, other):
    for session in ("over", "over too"):
        _pause_session(conn, session, _time(conn, "-1 second"))
    conn.execute("BEGIN")
    call(conn, "pause_session", queue="default", tenant="acme", session="s1")
    other.execute("SET lock_timeout = '5s'")
    call(other, "pause_session", queue="default", tenant="acme", session="s2")
    conn.execute("COMMIT")
    assert conn.execute("SELECT session FROM turnstile.paused_session ORDER BY session").fetchall() == [("s1",), ("s2",)]


def test_a_pause_of_a_session_does_not_read_those_of_others(conn):
    conn.execute(PLANNED)
    plans = watch(conn, read_whole)
    call(conn, "pause_session", queue="default", tenant="acme", session="s1")
    assert [scans for _, scans in plans if scans] == []
