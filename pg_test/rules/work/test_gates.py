"""Gates: how many may run behind a queue, a tenant, an account, a concurrency key, and what frees a slot."""

import psycopg
import pytest

from support import naive, rows
from support.calls import (
    claim_all, claim_next, complete, complete_and_claim_next, complete_many, discard, enqueue, enqueue_times, fail, ids,
    release,
)  # fmt: skip
from support.errors import BAD_VALUE
from support.gates import ACCOUNT, CONCURRENCY, GATES, QUEUE, TENANT
from support.settings import configure, unconfigure

each_gate = pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())


def _delete(conn, run):
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id])


ENDS = {
    "complete": complete,
    "complete_many": lambda conn, run: complete_many(conn, [run]),
    "fail to retry": lambda conn, run: fail(conn, run, retry_in="1 hour"),
    "fail for good": discard,
    "DELETE": _delete,
}


@each_gate
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_a_gate_admits_as_many_as_its_slots_and_one_more_for_each_end(conn, gate, end):
    gate.limit(conn, 2)
    enqueued = enqueue_times(conn, 5, **gate.behind)
    runs = claim_all(conn, gate.queue)
    assert ids(runs) == enqueued[:2]
    end(conn, runs[0])
    assert ids(claim_all(conn, gate.queue)) == enqueued[2:3]
    end(conn, runs[1])
    assert ids(claim_all(conn, gate.queue)) == enqueued[3:4]


@each_gate
def test_complete_and_claim_next_hands_the_slot_on(conn, gate):
    gate.limit(conn, 1)
    enqueued = enqueue_times(conn, 3, **gate.behind)
    run, claimed = claim_next(conn, gate.queue), []
    while run:
        claimed.append(run.id)
        assert claim_next(conn, gate.queue) is None
        run = complete_and_claim_next(conn, run)
    assert claimed == enqueued


@each_gate
def test_a_released_run_frees_its_slot_once(conn, gate):
    gate.limit(conn, 1)
    enqueue_times(conn, 3, **gate.behind)
    for _ in range(3):
        release(conn, claim_next(conn, gate.queue))
    assert len(claim_all(conn, gate.queue)) == 1


@each_gate
@pytest.mark.parametrize("slots", [None, 0, 1, 3, 7])
def test_null_is_no_limit_and_nought_is_none(conn, gate, slots):
    gate.limit(conn, slots)
    enqueue_times(conn, 5, **gate.behind)
    expected = 5 if slots is None else min(slots, 5)
    assert len(claim_all(conn, gate.queue)) == expected


@each_gate
def test_a_limit_holds_from_the_next_claim_on_and_interrupts_no_run(conn, gate):
    gate.limit(conn, 3)
    enqueue_times(conn, 9, **gate.behind)
    runs = claim_all(conn, gate.queue)
    assert len(runs) == 3
    gate.limit(conn, 1)
    assert [rows.state(conn, run.id) for run in runs] == ["running"] * 3
    for run, admitted in zip(runs, [0, 0, 1], strict=True):
        assert complete(conn, run)
        assert len(claim_all(conn, gate.queue)) == admitted, "a lowered limit admits nobody until there is room"
    gate.limit(conn, 4)
    assert len(claim_all(conn, gate.queue)) == 3
    gate.limit(conn, None)
    assert len(claim_all(conn, gate.queue)) == 2


@each_gate
def test_a_limit_that_was_rolled_back_was_never_set(conn, other, gate):
    gate.limit(conn, 1)
    enqueue_times(conn, 4, **gate.behind)
    conn.execute("BEGIN")
    gate.limit(conn, 3)
    assert len(claim_all(other, gate.queue)) == 1, "nor is it set before its commit"
    conn.execute("ROLLBACK")
    assert claim_all(other, gate.queue) == []


@each_gate
def test_a_limit_rolled_back_to_a_savepoint_was_never_set(conn, gate):
    gate.limit(conn, 1)
    enqueue_times(conn, 6, **gate.behind)
    conn.execute("BEGIN")
    gate.limit(conn, 2)
    conn.execute("SAVEPOINT s")
    gate.limit(conn, 5)
    conn.execute("ROLLBACK TO SAVEPOINT s")
    conn.execute("COMMIT")
    assert len(claim_all(conn, gate.queue)) == 2


@each_gate
def test_the_star_row_is_the_default_for_names_without_a_row(conn, gate):
    gate.default(conn, 2)
    enqueue_times(conn, 9, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 2
    gate.limit(conn, 3)
    assert len(claim_all(conn, gate.queue)) == 1
    gate.unset(conn)
    runs = claim_all(conn, gate.queue)
    assert runs == [], "without its row the default holds again"
    gate.default(conn, 5)
    assert len(claim_all(conn, gate.queue)) == 2


@each_gate
def test_minus_one_is_no_limit_whatever_the_default(conn, gate):
    gate.default(conn, 1)
    gate.limit(conn, -1)
    enqueue_times(conn, 4, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 4


def test_an_account_falls_back_to_its_tenants_star_row_before_the_general_one(conn):
    configure(conn, "account", "*", "*", slots=1)
    configure(conn, "account", "acme", "*", slots=2)
    for tenant in ("acme", "globex"):
        enqueue_times(conn, 4, tenant=tenant, account="sales")
        enqueue_times(conn, 4, tenant=tenant, account="support")
    taken = [(job.tenant, job.account) for job in claim_all(conn)]
    assert {key: taken.count(key) for key in set(taken)} == {
        ("acme", "sales"): 2,
        ("acme", "support"): 2,
        ("globex", "sales"): 1,
        ("globex", "support"): 1,
    }


def test_a_default_for_tenants_leaves_jobs_without_one_alone(conn):
    configure(conn, "tenant", "*", slots=0)
    configure(conn, "account", "*", "*", slots=0)
    configure(conn, "concurrency", "*", slots=0)
    free = enqueue(conn)
    for behind in ({"tenant": "acme"}, {"concurrency_key": "smtp"}):
        enqueue(conn, **behind)
    assert ids(claim_all(conn)) == [free]


@pytest.mark.parametrize("gate", [TENANT, ACCOUNT, CONCURRENCY], ids=["tenant", "account", "concurrency key"])
@pytest.mark.parametrize("slots", [0, 1])
def test_a_full_gate_never_hides_the_jobs_of_others(conn, gate, slots):
    gate.limit(conn, slots)
    enqueue_times(conn, 20, **gate.behind)
    others = [enqueue(conn), enqueue(conn, tenant="globex"), enqueue(conn, tenant="globex", account="sales")]
    assert ids(claim_all(conn))[slots:] == others


def test_a_name_is_the_same_gate_in_every_queue(conn):
    TENANT.limit(conn, 1)
    CONCURRENCY.limit(conn, 1)
    for queue in ("a", "b"):
        enqueue(conn, queue=queue, tenant="acme")
        enqueue(conn, queue=queue, concurrency_key="smtp")
    assert len(claim_all(conn, "a")) == 2
    assert claim_all(conn, "b") == []


def test_an_account_is_another_gate_for_each_tenant(conn):
    configure(conn, "account", "acme", "sales", slots=1)
    configure(conn, "account", "globex", "sales", slots=1)
    for tenant in ("acme", "globex"):
        enqueue_times(conn, 2, tenant=tenant, account="sales")
    assert sorted(job.tenant for job in claim_all(conn)) == ["acme", "globex"]


def test_names_that_look_alike_when_joined_are_different_gates(conn):
    configure(conn, "account", "*", "*", slots=1)
    for tenant, account in (("ab", "c"), ("a", "bc"), ("a:b", "c"), ("a", "b:c"), ("a", "C"), ("a ", "bc")):
        enqueue(conn, tenant=tenant, account=account)
    assert len(claim_all(conn)) == 6


def test_nested_gates_all_need_room(conn):
    configure(conn, "queue", "mail", max_running=5)
    configure(conn, "tenant", "acme", slots=3)
    configure(conn, "account", "acme", "sales", slots=2)
    configure(conn, "concurrency", "smtp", slots=1)
    job = {"queue": "mail", "tenant": "acme", "account": "sales", "concurrency_key": "smtp"}
    widths = {"concurrency_key": 1, "account": 1, "tenant": 1, "queue": 2}
    for name, more in widths.items():
        enqueue_times(conn, 4, **job)
        assert len(claim_all(conn, "mail")) == more, f"with {name} the narrowest gate left"
        del job[name]


def test_room_that_one_lane_cannot_use_goes_to_the_next(conn):
    """The tenant's freed slot is offered to a lane whose account is full: the other account gets it."""
    configure(conn, "tenant", "acme", slots=2)
    configure(conn, "account", "acme", "sales", slots=1)
    sales = enqueue_times(conn, 3, tenant="acme", account="sales")
    support = enqueue_times(conn, 3, tenant="acme", account="support")
    runs = claim_all(conn)
    assert ids(runs) == [sales[0], support[0]]
    complete(conn, runs[1])
    assert ids(claim_all(conn)) == [support[1]]
    complete(conn, runs[0])
    assert ids(claim_all(conn)) == [sales[1]]


def test_a_freed_slot_goes_to_the_best_waiting_lane_of_any_queue_that_asks(conn):
    TENANT.limit(conn, 1)
    enqueue(conn, tenant="acme", queue="a")
    run = claim_next(conn, "a")
    for queue in ("a", "b"):
        enqueue(conn, tenant="acme", queue=queue)
    assert claim_all(conn, "a") + claim_all(conn, "b") == []
    complete(conn, run)
    second = claim_next(conn, "b")
    assert second.queue == "b"
    assert claim_all(conn, "a") == []
    complete(conn, second)
    assert claim_next(conn, "a").queue == "a"


def test_a_run_moved_by_update_is_held_by_its_new_gates(conn):
    configure(conn, "tenant", "acme", slots=1)
    configure(conn, "tenant", "globex", slots=1)
    for tenant in ("acme", "acme", "globex"):
        enqueue(conn, tenant=tenant)
    run = claim_next(conn)
    conn.execute("UPDATE turnstile.job SET tenant = 'globex' WHERE id = %s", [run.id])
    assert [job.tenant for job in naive.claim_all_as_predicted(conn, ["default"])] == ["acme"]
    complete(conn, run)
    assert [job.tenant for job in claim_all(conn)] == ["globex"]


def test_a_claim_waits_for_no_settings_but_those_of_its_gates(conn, other):
    enqueue_times(conn, 2, queue="mail")
    assert claim_next(conn, "mail")
    QUEUE.limit(conn, 2)
    other.execute("BEGIN; LOCK turnstile.tenant, turnstile.account, turnstile.concurrency, turnstile.paused_session")
    conn.execute("SET lock_timeout = '2s'")
    assert claim_next(conn, "mail")


@each_gate
def test_negative_slots_are_refused(conn, gate):
    """Written by plain DML, so a CHECK may be what refuses them."""
    with pytest.raises(psycopg.Error) as caught:
        gate.limit(conn, -2)
    assert caught.value.sqlstate in (BAD_VALUE, "23514")


def test_a_limit_counts_runs_of_every_connection(conn, other):
    QUEUE.limit(conn, 2)
    enqueue_times(conn, 4, queue="mail")
    first, second = claim_next(conn, "mail"), claim_next(other, "mail")
    assert claim_next(conn, "mail") is None
    assert claim_next(other, "mail") is None
    complete(other, first)
    complete(conn, second)
    assert len(claim_all(conn, "mail")) == 2


def test_a_limit_of_thousands_counts_right(conn):
    TENANT.limit(conn, 1500)
    conn.execute("SELECT count(turnstile.enqueue('work', tenant => 'acme')) FROM generate_series(1, 2000)")
    runs = []
    while batch := conn.execute("SELECT id, attempt FROM turnstile.claim('{default}', 400)").fetchall():
        runs += batch
    assert len(runs) == 1500
    unconfigure(conn, "tenant", "acme")
    assert len(conn.execute("SELECT id FROM turnstile.claim('{default}', 1000)").fetchall()) == 500
