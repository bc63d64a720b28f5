"""why_waiting(): each reason by itself, what it says, and whom it tells."""

import datetime

import psycopg
import pytest
from psycopg import sql

from support.calls import call, claim, claim_next, complete, enqueue, enqueue_many, enqueue_times, fail
from support.settings import configure
from support.sleepers import Sleeper, await_asleep


def why(conn, job: int) -> list:
    return call(conn, "why_waiting", job_id=job)


def reasons(conn, job: int) -> list:
    return [(row.reason, row.gate, row.name, row.holder) for row in why(conn, job)]


@pytest.fixture
def attended(conn):
    """Queues that were claimed from once their first job was there."""

    def attend(*queues):
        for queue in queues or ("default",):
            enqueue(conn, queue=queue, priority=-1000)
            complete(conn, claim_next(conn, queue))

    return attend


def test_the_next_job_has_no_reason_to_wait(conn, attended):
    attended()
    job = enqueue(conn)
    assert why(conn, job) == []
    assert claim_next(conn).id == job


def test_a_scheduled_job_is_due_at_a_time(conn, attended):
    attended()
    job = enqueue(conn, run_at="2100-01-01 00:00+00")
    [row] = why(conn, job)
    assert (row.ord, row.reason, row.opens_at.year, row.gate) == (1, "scheduled", 2100, None)


def test_a_failed_job_waits_for_its_next_attempt(conn, attended):
    attended()
    job = enqueue(conn)
    fail(conn, claim_next(conn), retry_in="1 day")
    [row] = why(conn, job)
    assert row.reason == "retry"
    assert row.opens_at > datetime.datetime.now(datetime.UTC)


GATES = {
    "queue": ("queue", ("q",), {}, "q"),
    "tenant": ("tenant", ("a",), {"tenant": "a"}, "a"),
    "account": ("account", ("a", "x"), {"tenant": "a", "account": "x"}, "x"),
    "concurrency": ("concurrency", ("k",), {"concurrency_key": "k"}, "k"),
}
each_gate = pytest.mark.parametrize("gate", GATES)
each_pausable = pytest.mark.parametrize("gate", [gate for gate in GATES if gate != "concurrency"])


@each_gate
def test_a_full_gate_says_how_full(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *key, **{"max_running" if table == "queue" else "slots": 2})
    for _ in range(2):
        enqueue(conn, queue="q", **behind)
    claim(conn, ["q"], 2)
    [row] = why(conn, enqueue(conn, queue="q", **behind))
    assert (row.reason, row.gate, row.name, row.running, row.slots) == ("full", gate, name, 2, 2)


@each_gate
def test_a_gate_without_slots_is_full(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *key, **{"max_running" if table == "queue" else "slots": 0})
    [row] = why(conn, enqueue(conn, queue="q", **behind))
    assert (row.reason, row.gate, row.running, row.slots) == ("full", gate, 0, 0)


@each_pausable
def test_a_paused_gate_opens_when_it_is_resumed(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *key, paused=True)
    [row] = why(conn, enqueue(conn, queue="q", **behind))
    assert (row.reason, row.gate, row.name, row.opens_at, row.slots) == ("paused", gate, name, None, None)


@each_pausable
def test_a_pause_by_the_default_row_is_a_pause(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *["*" for _ in key], paused=True)
    assert reasons(conn, enqueue(conn, queue="q", **behind)) == [("paused", gate, name, None)]


@each_pausable
def test_a_pause_until_a_time_opens_then(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *key, paused_until="2100-01-01 00:00+00")
    [row] = why(conn, enqueue(conn, queue="q", **behind))
    assert (row.reason, row.gate, row.opens_at.year) == ("paused", gate, 2100)


@each_gate
def test_a_rate_opens_with_its_next_token(conn, attended, gate):
    table, key, behind, name = GATES[gate]
    attended("q")
    configure(conn, table, *key, rate=1, rate_per="10 days")
    enqueue(conn, queue="q", **behind)
    assert claim_next(conn, "q")
    [row] = why(conn, enqueue(conn, queue="q", **behind))
    left = row.opens_at - datetime.datetime.now(datetime.UTC)
    assert (row.reason, row.gate, row.name) == ("rate", gate, name)
    assert datetime.timedelta(days=9) < left <= datetime.timedelta(days=10)


def test_all_that_is_closed_is_told(conn, attended):
    attended("q")
    configure(conn, "queue", "q", max_running=0, paused_until="2100-01-01")
    enqueue(conn, tenant="a", account="x")
    configure(conn, "account", "a", "x", rate=1, rate_per="10 days")
    assert claim_next(conn)
    configure(conn, "tenant", "a", paused=True)
    job = enqueue(conn, queue="q", tenant="a", account="x", run_at="2100-01-01")
    found = [(row.ord, row.reason, row.gate) for row in why(conn, job)]
    assert found == [
        (1, "scheduled", None), (2, "full", "queue"), (3, "paused", "queue"), (4, "paused", "tenant"), (5, "rate", "account"),
    ]  # fmt: skip
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [job])
    call(conn, "promote")
    assert {(row.reason, row.gate) for row in why(conn, job)} == {
        ("full", "queue"), ("paused", "queue"), ("paused", "tenant"), ("rate", "account"),
    }  # fmt: skip


def test_a_session_is_busy_with_its_running_job(conn, attended):
    attended()
    first, second = enqueue(conn, session="s"), enqueue(conn, session="s")
    assert claim_next(conn).id == first
    assert reasons(conn, second) == [("session_busy", "session", "s", first)]


def test_a_session_is_held_by_its_failed_job(conn, attended):
    attended()
    first, second = enqueue(conn, session="s"), enqueue(conn, session="s")
    fail(conn, claim_next(conn), retry_in="1 day")
    assert reasons(conn, second) == [("session_busy", "session", "s", first)]
    assert [row.reason for row in why(conn, first)] == ["retry"]


def test_in_a_session_the_turn_counts(conn, attended):
    attended()
    first, second = enqueue(conn, session="s"), enqueue(conn, session="s")
    third = enqueue(conn, session="s", priority=-1)
    assert ("session_order", "session", "s", third) in reasons(conn, first)
    assert ("session_order", "session", "s", third) in reasons(conn, second)
    assert reasons(conn, third) == []


def test_a_paused_session_opens_when_it_is_resumed(conn, attended):
    attended()
    job = enqueue(conn, session="s")
    call(conn, "pause_session", queue="default", tenant=None, session="s")
    [row] = why(conn, job)
    assert (row.reason, row.gate, row.name, row.opens_at) == ("paused", "session", "s", None)


def test_a_unique_key_runs_once(conn, attended):
    attended("default", "other")
    given = {"unique_key": "u", "unique_mode": "while_executing"}
    first, second = enqueue(conn, **given), enqueue(conn, queue="other", **given)
    assert claim_next(conn).id == first
    assert reasons(conn, second) == [("unique_running", "unique", "u", first)]


def test_who_is_behind_is_told_what_comes_first(conn, attended):
    attended()
    first, second = enqueue(conn), enqueue(conn)
    urgent = enqueue(conn, priority=-1)
    assert reasons(conn, second) == reasons(conn, first) == [("behind", "queue", "default", urgent)]
    claim_next(conn)
    assert reasons(conn, first) == []
    assert reasons(conn, second) == [("behind", "queue", "default", first)]


def test_a_full_job_is_behind_as_well(conn, attended):
    attended()
    configure(conn, "tenant", "a", slots=0)
    first = enqueue(conn)
    job = enqueue(conn, tenant="a")
    assert reasons(conn, job) == [("full", "tenant", "a", None), ("behind", "queue", "default", first)]


def test_in_a_fair_queue_the_share_decides(conn, attended):
    attended("q")
    configure(conn, "queue", "q", policy="fair")
    of_a = [enqueue(conn, queue="q", tenant="a") for _ in range(3)]
    of_b = enqueue(conn, queue="q", tenant="b")
    assert claim_next(conn, "q").id == of_a[0]
    assert reasons(conn, of_b) == []
    assert reasons(conn, of_a[1]) == [("behind", "queue", "q", of_b)]


def test_a_locked_row_is_told_and_passed_over(conn, other, attended):
    attended()
    first, second = enqueue(conn), enqueue(conn)
    with other.transaction():
        other.execute("SELECT FROM turnstile.job WHERE id = %s FOR UPDATE", [first])
        assert reasons(conn, first) == [("locked", None, None, None)]
        assert reasons(conn, second) == []
    assert reasons(conn, first) == []


@pytest.mark.parametrize("lock", ["FOR KEY SHARE", "FOR SHARE", "FOR NO KEY UPDATE"])
def test_only_locks_that_claims_respect_count(conn, other, attended, lock):
    attended()
    job = enqueue(conn)
    with other.transaction():
        other.execute(f"SELECT FROM turnstile.job WHERE id = %s {lock}", [job])
        assert (reasons(conn, job) == []) == (lock == "FOR KEY SHARE")
        with conn.transaction():
            conn.execute("SELECT FROM turnstile.job WHERE id = %s FOR KEY SHARE", [job])
            assert (reasons(conn, job) == []) == (lock == "FOR KEY SHARE")


def test_a_job_that_an_open_transaction_has_claimed_is_locked(conn, other, attended):
    attended()
    job = enqueue(conn)
    with other.transaction():
        claim_next(other)
        assert [row.reason for row in why(conn, job)] == ["locked"]


def test_an_own_job_waits_for_the_commit(conn, attended):
    attended()
    with conn.transaction():
        job = enqueue(conn)
        assert [row.reason for row in why(conn, job)] == ["locked"]
    assert why(conn, job) == []


def test_nobody_claims(conn):
    job = enqueue(conn, queue="forsaken")
    [row] = why(conn, job)
    assert (row.reason, row.gate, row.name) == ("no_worker", "queue", "forsaken")
    enqueue(conn, queue="other")
    claim_next(conn, "other")
    assert [row.reason for row in why(conn, job)] == ["no_worker"]
    with conn.transaction(force_rollback=True):
        claim_next(conn, "forsaken")
    assert why(conn, job) == []


def test_a_claim_from_all_queues_is_one_from_each(conn):
    configure(conn, "queue", "q", paused=True)
    job = enqueue(conn, queue="q")
    assert [row.reason for row in why(conn, job)] == ["paused", "no_worker"]
    assert claim_next(conn, "*") is None
    assert [row.reason for row in why(conn, job)] == ["paused"]


def test_a_claim_from_all_permitted_queues_is_one_from_each_of_them(conn, role):
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole, '{q, busy}')", [role])
    configure(conn, "queue", "q", paused=True)
    permitted, forbidden = enqueue(conn, queue="q"), enqueue(conn, queue="other")
    enqueue(conn, queue="busy")
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert claim_next(conn, "*").queue == "busy"
    conn.execute("RESET ROLE")
    assert [row.reason for row in why(conn, permitted)] == ["paused"]
    assert [row.reason for row in why(conn, forbidden)] == ["no_worker"]


def test_a_sleeper_is_a_worker(conn, db):
    configure(conn, "queue", "q", paused=True)
    sleeper = Sleeper(db.connect(), "CALL turnstile.wait_for_job(ARRAY['q'], '60 s')")
    await_asleep(conn, 1)
    job = enqueue(conn, queue="q")
    assert [row.reason for row in why(conn, job)] == ["paused"]
    configure(conn, "queue", "q", paused=False)
    sleeper.returned()


def test_looking_is_not_claiming(conn):
    job = enqueue(conn)
    for _ in range(3):
        assert [row.reason for row in why(conn, job)] == ["no_worker"]


def test_after_a_rebuild_it_is_the_same(conn, attended):
    attended()
    configure(conn, "tenant", "a", slots=1)
    jobs = [enqueue(conn, tenant="a", session="s") for _ in range(2)]
    claim_next(conn)
    before = reasons(conn, jobs[1])
    call(conn, "rebuild")
    claim_next(conn)
    assert reasons(conn, jobs[1]) == before == [("full", "tenant", "a", None), ("session_busy", "session", "s", jobs[0])]


def test_it_changes_nothing(conn, attended):
    attended()
    jobs = [enqueue(conn, session=session) for session in ("s", "s", None)]
    before = conn.execute("SELECT * FROM turnstile.job ORDER BY id").fetchall()
    for job in jobs:
        why(conn, job)
        call(conn, "wait_estimate", job_id=job)
    assert conn.execute("SELECT * FROM turnstile.job ORDER BY id").fetchall() == before
    with conn.transaction():
        conn.execute("SET TRANSACTION READ ONLY")
        assert why(conn, jobs[0]) == []


def test_in_a_savepoint_that_is_undone(conn, attended):
    attended()
    configure(conn, "queue", "default", max_running=1)
    first, second = enqueue(conn), enqueue(conn)
    with conn.transaction():
        conn.execute("SAVEPOINT s")
        claim_next(conn)
        assert [row.reason for row in why(conn, second)] == ["full"]
        conn.execute("ROLLBACK TO s")
        assert reasons(conn, second) == [("behind", "queue", "default", first)]
        assert why(conn, first) == []


@pytest.mark.parametrize("function", ["why_waiting", "wait_estimate"])
def test_a_job_that_does_not_wait_has_no_reason(conn, function):
    job = enqueue(conn)
    run = claim_next(conn)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as raised:
        call(conn, function, job_id=job)
    assert "running" in raised.value.diag.message_detail
    complete(conn, run)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as raised:
        call(conn, function, job_id=job)
    assert "completed" in raised.value.diag.message_detail
    with pytest.raises(psycopg.errors.NoDataFound):
        call(conn, function, job_id=987654321)
    with pytest.raises(psycopg.errors.NullValueNotAllowed):
        call(conn, function, job_id=None)


def test_of_a_list_those_that_wait_no_more_have_no_rows(db, conn):
    call(conn, "set_queue", name="default", max_running=2)
    enqueue_times(conn, 6)
    listed = [id for (id,) in conn.execute("SELECT id FROM turnstile.job ORDER BY id")]
    run = claim_next(conn)
    complete(conn, claim_next(conn))
    # Another one starts while the list is read.
    other = db.connect(autocommit=False)
    claim_next(other)
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [listed[-1]])
    rows = call(conn, "why_waiting_many", job_ids=[*reversed(listed), run.id, 987654321])
    assert [row.job_id for row in rows] == sorted((row.job_id for row in rows), reverse=True)
    assert {row.job_id for row in rows} == set(listed[2:5])
    for id in listed[2:5]:
        assert [row[1:] for row in rows if row.job_id == id] == [tuple(row) for row in why(conn, id)]
    other.rollback()
    assert call(conn, "why_waiting_many", job_ids=[]) == []


def test_of_a_list_the_caller_is_told_what_it_may_know(conn, role):
    mine, others = enqueue(conn, tenant="a"), enqueue(conn, tenant="b")
    conn.execute("SELECT turnstile.allow_tenant(%s::text::regrole, '{a}')", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert {row.job_id for row in call(conn, "why_waiting_many", job_ids=[mine, others])} == {mine}
    conn.execute("RESET ROLE")


def test_a_sentence_names_the_job_in_the_way_to_who_may_know(conn, role):
    first, mine = enqueue(conn, tenant="b"), enqueue(conn, tenant="a")
    detail = [row.detail for row in why(conn, mine) if row.reason == "behind"]
    assert f"job {first} comes before it" in detail[0]
    conn.execute("SELECT turnstile.allow_tenant(%s::text::regrole, '{a}')", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    detail = [row.detail for row in why(conn, mine) if row.reason == "behind"]
    assert "another job comes before it" in detail[0]
    conn.execute("RESET ROLE")


@pytest.mark.parametrize("verb", ["see", "manage", "*"])
def test_who_may_see_or_manage_may_ask(conn, role, verb):
    mine, others = enqueue(conn, tenant="a"), enqueue(conn, tenant="b")
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA turnstile TO {0}").format(sql.Identifier(role)))
    conn.execute(
        sql.SQL("GRANT EXECUTE ON FUNCTION turnstile.why_waiting, turnstile.wait_estimate TO {0}").format(sql.Identifier(role))
    )
    conn.execute("INSERT INTO turnstile.permission VALUES (%s::text::regrole, %s, '*', 'a')", [role, verb])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    for function in ("why_waiting", "wait_estimate"):
        assert call(conn, function, job_id=mine)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            call(conn, function, job_id=others)
    conn.execute("RESET ROLE")


def test_jobs_of_others_are_not_named(conn, role):
    first, mine = enqueue(conn, tenant="b"), enqueue(conn, tenant="a")
    conn.execute("SELECT turnstile.allow_tenant(%s::text::regrole, '{a}')", [role])
    assert reasons(conn, mine)[0] == ("behind", "queue", "default", first)
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert reasons(conn, mine)[0] == ("behind", "queue", "default", None)
    assert str(first) not in why(conn, mine)[0].detail
    conn.execute("RESET ROLE")


def test_lanes_are_counted_by_reason(conn):
    configure(conn, "tenant", "a", slots=0)
    configure(conn, "tenant", "b", paused_until="2100-01-01")
    for tenant in "aabc":
        enqueue(conn, queue="q", tenant=tenant)
        enqueue(conn, queue="q", tenant=tenant, priority=1)
    enqueue(conn, queue="forsaken")
    with conn.transaction(force_rollback=True):
        claim_next(conn, "q")
    found = {(row.reason, row.gate): row.lanes for row in call(conn, "why_waiting_summary", queue="q")}
    assert found == {("paused", "tenant"): 4, ("behind", "queue"): 2}
    found = {(row.reason, row.gate): row.lanes for row in call(conn, "why_waiting_summary")}
    assert found == {("paused", "tenant"): 4, ("behind", "queue"): 3, ("no_worker", "queue"): 1}
    [row] = call(conn, "why_waiting_summary", queue="q", tenant="a")
    assert (row.reason, row.lanes, row.is_estimate) == ("paused", 2, False)
    assert call(conn, "why_waiting_summary", queue="nothing") == []
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        call(conn, "why_waiting_summary", queue="")


def test_nothing_moves_without_starts(conn):
    enqueue_many(conn, [{"kind": "work"} for _ in range(5)])
    job = enqueue(conn)
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.ahead, row.is_capped, row.starts_per_minute, row.bottleneck, row.starts_at) == (5, False, None, "queue", None)


def test_what_is_ahead_is_counted_up_to_a_bound(conn):
    conn.execute("INSERT INTO turnstile.job (kind) SELECT 'work' FROM generate_series(1, 10100)")
    job = enqueue(conn)
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.ahead, row.is_capped) == (10000, True)


def test_the_line_is_that_of_the_tightest_gate(conn):
    configure(conn, "tenant", "a", slots=1)
    for tenant in ("a", "b", "b", "b", "b", "a", "b", "a"):
        enqueue(conn, tenant=tenant)
    claim(conn, ["default"], 5)
    job = enqueue(conn, tenant="a")
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.bottleneck, row.ahead) == ("tenant", 2)
    assert row.starts_at is not None
    # What the full tenant has does not compete with others.
    [row] = call(conn, "wait_estimate", job_id=enqueue(conn, tenant="c"))
    assert (row.bottleneck, row.ahead) == ("queue", 1)


def test_a_pause_without_end_and_a_time(conn):
    enqueue_many(conn, [{"kind": "work"} for _ in range(5)])
    claim(conn, ["default"], 3)
    late = enqueue(conn, run_at="2100-01-01 00:00+00")
    assert call(conn, "wait_estimate", job_id=late)[0].starts_at.year == 2100
    configure(conn, "queue", "default", paused_until="2200-01-01 00:00+00")
    assert call(conn, "wait_estimate", job_id=late)[0].starts_at.year == 2200


def test_a_monitor_is_told_figures_only(conn, role):
    job = enqueue(conn)
    conn.execute("SELECT turnstile.allow_monitor(%s::text::regrole)", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert call(conn, "why_waiting_summary")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        call(conn, "why_waiting", job_id=job)
    conn.execute("RESET ROLE")
