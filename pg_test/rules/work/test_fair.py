"""Queues whose policy is fair: tenants share the starts of a priority by weight, whatever their backlog."""

from collections import Counter

import pytest
from psycopg.errors import CheckViolation
from support.calls import call, claim, claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.errors import refused
from support.settings import configure, unconfigure


@pytest.fixture
def fair(conn):
    configure(conn, "queue", "default", policy="fair")
    return conn


def _starts(conn, count: int) -> Counter:
    """Which tenants the next jobs are of."""
    return Counter(claim_next(conn).tenant for _ in range(count))


def test_a_queue_is_fifo_unless_told_otherwise(conn):
    configure(conn, "tenant", "acme", weight=100)
    jobs = [enqueue(conn, tenant=tenant) for tenant in ["globex"] * 3 + ["acme"] * 3]
    assert ids(claim_all(conn)) == jobs


def test_tenants_take_turns_and_each_goes_by_position(fair):
    backlog = enqueue_times(fair, 4, tenant="acme")
    few = enqueue_times(fair, 2, tenant="globex")
    nobodys = enqueue(fair)
    first = [backlog[0], few[0], nobodys]
    assert ids(claim_all(fair)) == [*first, backlog[1], few[1], *backlog[2:]]


def test_weights_decide_how_often(fair):
    for tenant, weight in {"one": 1, "two": 2, "five": 5}.items():
        configure(fair, "tenant", tenant, weight=weight)
        enqueue_times(fair, 60, tenant=tenant)
    assert _starts(fair, 80) == {"one": 10, "two": 20, "five": 50}


def test_the_default_row_weighs_tenants_without_a_row(fair):
    configure(fair, "tenant", "*", weight=3)
    configure(fair, "tenant", "acme", weight=1)
    for tenant in ("acme", "globex"):
        enqueue_times(fair, 30, tenant=tenant)
    assert _starts(fair, 40) == {"acme": 10, "globex": 30}


def test_jobs_without_tenant_weigh_as_one_tenant(fair):
    enqueue_times(fair, 20)
    enqueue_times(fair, 20, tenant="acme")
    assert _starts(fair, 20) == {None: 10, "acme": 10}


def test_priority_goes_before_fairness(fair):
    enqueue_times(fair, 3, tenant="acme", priority=1)
    urgent = enqueue_times(fair, 3, tenant="globex")
    assert ids(claim(fair, ["default"], 3)) == urgent


def test_a_batch_is_what_single_claims_would_take(fair):
    configure(fair, "tenant", "acme", weight=2)
    jobs = {tenant: enqueue_times(fair, 6, tenant=tenant) for tenant in ("acme", "globex")}
    batch = ids(claim(fair, ["default"], 6))
    assert sorted(batch) == sorted(jobs["acme"][:4] + jobs["globex"][:2])
    # The starts of an aborted transaction are counted all the same: shares are of starts.
    fair.execute("SELECT turnstile.rebuild()")
    assert _starts(fair, 6) == {"acme": 2, "globex": 4}


def test_idleness_earns_nothing(fair):
    enqueue_times(fair, 60, tenant="busy")
    claim(fair, ["default"], 20)
    enqueue_times(fair, 20, tenant="late")
    assert _starts(fair, 20) == {"busy": 10, "late": 10}


def test_a_tenant_that_comes_back_each_time_gets_no_more_than_its_share(fair):
    """Its lane goes with each job; what it has had stays known."""
    for tenant in ("a", "b", "c"):
        enqueue_times(fair, 40, tenant=tenant)
    waits = False
    starts = Counter()
    for _ in range(80):
        if not waits:
            enqueue(fair, tenant="drip")
        tenant = claim_next(fair).tenant
        waits = tenant != "drip"
        starts[tenant] += 1
    assert starts["drip"] == 20


def test_who_has_no_room_leaves_its_share_to_others_and_makes_up_for_nothing(fair):
    configure(fair, "tenant", "full", slots=1)
    enqueue_times(fair, 30, tenant="full")
    enqueue_times(fair, 60, tenant="open")
    running = claim_next(fair)
    assert running.tenant == "full"
    assert _starts(fair, 20) == {"open": 20}
    configure(fair, "tenant", "full", slots=None)
    assert _starts(fair, 20)["full"] in (10, 11)


def test_a_full_key_costs_its_tenants_no_turn_of_their_other_jobs(fair):
    configure(fair, "concurrency", "printer", slots=1)
    for tenant in ("acme", "globex"):
        enqueue_times(fair, 10, tenant=tenant, concurrency_key="printer")
        enqueue_times(fair, 10, tenant=tenant)
    jobs = claim(fair, ["default"], 11)
    assert len(jobs) == 11
    assert max(Counter(job.tenant for job in jobs).values()) == 6


def test_a_weight_holds_from_the_next_claim_on(fair):
    for tenant in ("acme", "globex"):
        enqueue_times(fair, 60, tenant=tenant)
    assert _starts(fair, 10) == {"acme": 5, "globex": 5}
    call(fair, "set_tenant", name="acme", weight=3)
    assert _starts(fair, 20) == {"acme": 15, "globex": 5}
    unconfigure(fair, "tenant", "acme")
    assert _starts(fair, 20) == {"acme": 10, "globex": 10}


def test_the_policy_holds_from_the_next_claim_on(fair):
    jobs = [enqueue(fair, tenant=tenant) for tenant in ["acme"] * 5 + ["globex"] * 5]
    assert _starts(fair, 2) == {"acme": 1, "globex": 1}
    call(fair, "set_queue", name="default", policy="fifo")
    assert ids(claim(fair, ["default"], 4)) == jobs[1:5]
    fair.execute("UPDATE turnstile.queue SET policy = 'fair' WHERE name = 'default'")
    assert _starts(fair, 1) == {"globex": 1}


def test_the_default_row_makes_all_queues_fair(conn):
    configure(conn, "queue", "*", policy="fair")
    enqueue_times(conn, 4, tenant="acme")
    enqueue_times(conn, 4, tenant="globex")
    assert _starts(conn, 4) == {"acme": 2, "globex": 2}


def test_shares_are_kept_apart_by_queue(fair):
    configure(fair, "queue", "mail", policy="fair")
    enqueue_times(fair, 10, tenant="acme")
    claim(fair, ["default"], 5)
    for queue in ("default", "mail"):
        enqueue_times(fair, 10, tenant="globex", queue=queue)
    enqueue_times(fair, 10, tenant="acme", queue="mail")
    assert Counter(job.tenant for job in claim(fair, ["mail"], 10)) == {"acme": 5, "globex": 5}


def test_all_queues_come_by_priority_and_position_of_what_each_has_next(fair):
    enqueue_times(fair, 3, tenant="acme")
    other = enqueue(fair, queue="mail")
    late = enqueue(fair, tenant="globex")
    assert claim_next(fair, "*").tenant == "acme"
    # Globex is due in the fair queue, and that job is younger than the one in the other queue.
    assert claim_next(fair, "*").id == other
    assert claim_next(fair, "*").id == late
    assert len(claim_all(fair, "*")) == 2


def test_a_session_keeps_its_order(fair):
    mine = enqueue_times(fair, 3, tenant="acme", session="s")
    enqueue_times(fair, 3, tenant="globex")
    seen = []
    while (job := claim_next(fair)) is not None:
        seen.append(job.id)
        complete(fair, job)
    assert [job for job in seen if job in mine] == mine


def test_check_finds_nothing_in_a_fair_queue(fair):
    configure(fair, "tenant", "acme", weight=4)
    for tenant in ("acme", "globex", None):
        enqueue_times(fair, 5, tenant=tenant)
    claim(fair, ["default"], 4)
    assert call(fair, "check") == []


@pytest.mark.parametrize("weight", [0, -1, 10_001])
def test_a_weight_that_makes_no_sense_is_refused(conn, weight):
    with refused("22023"):
        call(conn, "set_tenant", name="acme", weight=weight)
    with pytest.raises(CheckViolation, match="tenant_weight_check"):
        configure(conn, "tenant", "acme", weight=weight)


def test_an_unknown_policy_is_refused(conn):
    with refused("22023"):
        call(conn, "set_queue", name="default", policy="random")
