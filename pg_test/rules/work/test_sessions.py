"""Sessions: one job at a time, in order, scoped to (queue, tenant)."""

import pytest

from support import rows
from support.calls import call, claim, claim_all, claim_next, complete, discard, enqueue, enqueue_times, fail, ids, release
from support.due import claim_when_due
from support.settings import configure


def test_a_session_runs_one_job_at_a_time_in_order(conn):
    enqueued = enqueue_times(conn, 5, session="chat-1")
    for expected in enqueued:
        run = claim_next(conn)
        assert run.id == expected
        assert claim_next(conn) is None
        complete(conn, run)
    assert claim_next(conn) is None


def test_a_batch_takes_one_job_of_each_session(conn):
    firsts = [enqueue_times(conn, 3, session=f"chat-{n}")[0] for n in range(10)]
    assert ids(claim(conn, ["default"], 30)) == firsts


def test_a_session_goes_by_priority_before_position(conn):
    plain = enqueue(conn, session="chat-1", priority=5)
    urgent = enqueue(conn, session="chat-1", priority=1)
    run = claim_next(conn)
    assert run.id == urgent
    assert claim_next(conn) is None, "the session's lanes of other priorities wait too"
    complete(conn, run)
    assert claim_next(conn).id == plain


def test_a_session_of_one_queue_or_tenant_is_not_that_of_another(conn):
    for scope in ({}, {"queue": "mail"}, {"tenant": "acme"}, {"tenant": "globex"}, {"queue": "mail", "tenant": "acme"}):
        enqueue_times(conn, 2, session="chat-1", **scope)
    assert len(claim_all(conn, "default")) == 3
    assert len(claim_all(conn, "mail")) == 2


def _by_update(conn, job_id: int) -> None:
    conn.execute("UPDATE turnstile.job SET queue = 'mail' WHERE id = %s", [job_id])


def _by_route(conn, job_id: int) -> None:
    call(conn, "set_route", pattern="work", queue="mail")
    assert call(conn, "reroute", pattern="work")[0][0] == 1


def _by_replacement(conn, job_id: int) -> None:
    assert enqueue(conn, queue="mail", session="chat-1", unique_key="key", unique_mode="replace") == job_id


@pytest.mark.parametrize("move", [_by_update, _by_route, _by_replacement], ids=["by UPDATE", "by route", "by replacement"])
def test_a_job_that_held_its_session_waits_its_turn_in_another(conn, move):
    before = enqueue(conn, "other", queue="mail", session="chat-1")
    held = enqueue(conn, session="chat-1", unique_key="key", unique_mode="replace")
    behind = enqueue(conn, "other", session="chat-1")
    after = enqueue(conn, "other", queue="mail", session="chat-1")
    running = claim_next(conn, "mail")
    assert running.id == before
    fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn) is None
    move(conn, held)
    assert claim_next(conn).id == behind, "its old session goes on"
    conn.execute("UPDATE turnstile.job SET state = 'available', run_at = clock_timestamp() WHERE id = %s", [held])
    assert claim_all(conn, "mail") == [], "one job of its new session runs"
    complete(conn, running)
    run = claim_next(conn, "mail")
    assert run.id == held
    assert claim_all(conn, "mail") == []
    complete(conn, run)
    assert ids(claim_all(conn, "mail")) == [after]


def test_a_session_spans_accounts_and_concurrency_keys(conn):
    first = enqueue(conn, session="chat-1", tenant="acme", account="sales")
    enqueue(conn, session="chat-1", tenant="acme", account="support")
    enqueue(conn, session="chat-1", tenant="acme", concurrency_key="smtp")
    assert ids(claim_all(conn)) == [first]


@pytest.mark.parametrize(
    ("behind", "table", "key", "closed", "opened"),
    [
        ({"concurrency_key": "smtp"}, "concurrency", ["smtp"], {"slots": 0}, {"slots": 1}),
        ({"account": "sales"}, "account", ["acme", "sales"], {"slots": 0}, {"slots": 1}),
        ({"account": "sales"}, "account", ["acme", "sales"], {"paused": True}, {"paused": False}),
    ],
)
def test_a_session_waits_for_its_next_job_whatever_holds_that_back(conn, behind, table, key, closed, opened):
    configure(conn, table, *key, **closed)
    first = enqueue(conn, tenant="acme", session="chat-1", **behind)
    second = enqueue(conn, tenant="acme", session="chat-1")
    outside = enqueue(conn, tenant="acme")
    assert ids(claim_all(conn)) == [outside], "jobs of a session do not overtake each other"
    configure(conn, table, *key, **opened)
    run = claim_next(conn)
    assert run.id == first
    complete(conn, run)
    assert claim_next(conn).id == second


def test_a_released_job_keeps_its_place_in_the_session(conn):
    enqueued = enqueue_times(conn, 3, session="chat-1")
    for _ in range(3):
        run = claim_next(conn)
        assert run.id == enqueued[0]
        release(conn, run)


@pytest.mark.parametrize("end", [complete, discard])
def test_an_ended_run_lets_the_session_go_on(conn, end):
    first, second = enqueue_times(conn, 2, session="chat-1")
    run = claim_next(conn)
    end(conn, run)
    assert (run.id, claim_next(conn).id) == (first, second)


def test_a_job_waiting_to_be_retried_holds_its_session_and_is_next(conn):
    first, second = enqueue_times(conn, 2, session="chat-1")
    fail(conn, claim_next(conn), retry_in="1 second")
    assert rows.state(conn, first) == "retryable"
    enqueue(conn, session="chat-1", priority=-10)
    free = enqueue(conn, priority=9)
    assert ids(claim_all(conn)) == [free], "and nobody outside the session is held"
    assert claim_when_due(conn).id == first
    assert second not in ids(claim_all(conn))


def test_a_session_held_for_a_retry_is_free_once_that_job_is_gone(conn):
    first, second = enqueue_times(conn, 2, session="chat-1")
    fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn) is None
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [first])
    assert claim_next(conn).id == second


def test_session_on_retry_pass_lets_the_others_go_on(conn):
    configure(conn, "queue", "default", session_on_retry="pass")
    _, second = enqueue_times(conn, 2, session="chat-1")
    fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn).id == second


def test_a_scheduled_job_holds_no_job_of_its_session_back(conn):
    conn.execute("SELECT turnstile.enqueue('work', session => 'chat-1', run_at => now() + '1 hour')")
    now = enqueue(conn, session="chat-1")
    assert ids(claim_all(conn)) == [now]
