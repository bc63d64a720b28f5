"""Order: the eligible job with the least (priority, position), across lanes, queues and batches."""

import random

import pytest

from support import naive, rows
from support.calls import claim, claim_all, claim_next, complete, enqueue, enqueue_many, enqueue_times, ids, release
from support.database import fresh_database
from support.settings import configure


def test_jobs_of_one_priority_go_in_the_order_of_enqueue(conn):
    enqueued = enqueue_times(conn, 20)
    assert ids(claim_all(conn)) == enqueued


def test_lower_priority_goes_first(conn):
    by_priority = {priority: enqueue(conn, priority=priority) for priority in (5, 0, -1, 2**31 - 1, 3, -(2**31))}
    assert ids(claim_all(conn)) == [by_priority[priority] for priority in sorted(by_priority)]


def test_order_holds_across_lanes_not_within_each(conn):
    lanes = [{}, {"tenant": "acme"}, {"tenant": "acme", "account": "sales"}, {"session": "s"}, {"concurrency_key": "k"}]
    enqueued = [enqueue(conn, **lane) for lane in lanes for _ in range(2)]
    firsts = enqueued[0:6] + [enqueued[6]] + enqueued[8:10]
    assert ids(claim_all(conn)) == firsts, "only the second job of the session waits"


def test_a_lane_with_a_gap_does_not_run_ahead_of_another(conn):
    """Lane A holds jobs 1 and 5, lane B jobs 2 to 4: A's second job waits for B's."""
    a1 = enqueue(conn, tenant="a")
    b = enqueue_times(conn, 3, tenant="b")
    a2 = enqueue(conn, tenant="a")
    assert ids(claim(conn, ["default"], 5)) == [a1, *b, a2]


def test_a_deleted_head_does_not_lift_the_rest_of_its_lane(conn):
    doomed = enqueue_times(conn, 3, tenant="a")
    b = enqueue_times(conn, 3, tenant="b")
    a = enqueue(conn, tenant="a")
    conn.execute("DELETE FROM turnstile.job WHERE id = ANY(%s)", [doomed])
    assert ids(claim_all(conn)) == [*b, a]


def test_an_urgent_job_is_next_whenever_it_comes(conn, other):
    enqueue_times(conn, 5, priority=200)
    for _ in range(3):
        urgent = enqueue(other, priority=100)
        assert claim_next(conn).id == urgent


def test_queues_are_served_in_the_order_given(conn):
    in_a, in_b = enqueue_times(conn, 2, queue="a"), enqueue_times(conn, 2, queue="b", priority=9)
    assert ids(claim(conn, ["b", "a"], 3)) == [*in_b, in_a[0]]
    assert ids(claim(conn, ["b", "a"], 3)) == [in_a[1]]


def test_a_queue_not_named_is_not_served(conn):
    enqueue(conn, queue="a")
    assert claim(conn, ["b", "default"], 5) == []
    assert claim(conn, [], 5) == []


def test_claim_takes_at_most_max_jobs(conn):
    enqueued = enqueue_times(conn, 5)
    assert claim(conn, ["default"], 0) == []
    assert ids(claim(conn, ["default"])) == enqueued[:1]
    assert ids(claim(conn, ["default"], 3)) == enqueued[1:4]
    assert ids(claim(conn, ["default"], 100)) == enqueued[4:]
    assert claim(conn, ["default"], 100) == []


def test_a_claim_of_nothing_writes_nothing_and_uses_no_transaction_id(conn):
    configure(conn, "tenant", "full", slots=0)
    enqueue(conn, tenant="full")
    before = rows.everything(conn)
    with conn.transaction():
        assert claim_next(conn) is None
        assert claim(conn, ["default", "nowhere"], 10) == []
        assert conn.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() == (None,)
    assert rows.everything(conn) == before


def test_a_claim_writes_who_when_and_until_when(conn):
    enqueue(conn)
    before = rows.clock(conn)
    job = claim_next(conn, worker="w1", lease="10 minutes")
    row, after = rows.live(conn, job.id), rows.clock(conn)
    assert (row.state, row.attempt, row.worker) == ("running", 1, "w1")
    assert before <= row.claimed_at <= after
    assert row.lease_expires_at == job.lease_expires_at
    assert (row.lease_expires_at - row.claimed_at).total_seconds() == pytest.approx(600, abs=1)


def _random_jobs(chance: random.Random, number: int) -> list[dict]:
    """Jobs over few names, so that lanes, gates and sessions are shared by many."""
    jobs = []
    for n in range(number):
        tenant = chance.choice([None, "t1", "t2", "t3"])
        job = {
            "kind": f"k{n}",
            "queue": chance.choice(["q1", "q2"]),
            "priority": chance.choice([-5, 0, 0, 0, 7]),
            "tenant": tenant,
            "account": chance.choice([None, "a1", "a2"]) if tenant else None,
            "session": chance.choice([None, None, None, "s1", "s2"]),
            "concurrency_key": chance.choice([None, None, "c1", "c2"]),
        }
        jobs.append({name: value for name, value in job.items() if value is not None})
    return jobs


def _random_limits(conn, chance: random.Random) -> None:
    for queue in ("q1", "q2"):
        configure(conn, "queue", queue, max_running=chance.choice([None, 8, 20]))
    for tenant in ("t1", "t2"):
        configure(conn, "tenant", tenant, slots=chance.choice([None, 0, 2, 7]), paused=chance.random() < 0.1)
        configure(conn, "account", tenant, "a1", slots=chance.choice([None, 1, 3]), paused=chance.random() < 0.1)
    configure(conn, "concurrency", "c1", slots=chance.choice([None, 1, 4]))


@pytest.mark.parametrize("case", range(5))
def test_claim_n_alone_is_n_times_claim_next_in_an_identical_database(case, seed):
    chance = random.Random(seed)
    jobs, limits, size = _random_jobs(chance, 120), chance.randrange(2**31), chance.choice([1, 2, 7, 40])
    taken = []
    for one_by_one in (False, True):
        with fresh_database() as database:
            conn = database.connect()
            _random_limits(conn, random.Random(limits))
            kinds = {answer.id: job["kind"] for answer, job in zip(enqueue_many(conn, jobs), jobs, strict=True)}
            order = []
            for queues in (["q2"], ["q1", "q2"], ["q1"], ["q2", "q1"]):
                if one_by_one:
                    batch = [job for _ in range(size) for job in claim(conn, queues, 1)]
                else:
                    batch = claim(conn, queues, size)
                order.append([kinds[job.id] for job in batch])
                for job in batch[::2]:
                    complete(conn, job)
            taken.append(order)
    assert taken[0] == taken[1]
    assert any(taken[0]), "nothing was claimed, nothing was compared"


@pytest.mark.parametrize("case", range(5))
def test_claim_n_rolled_back_is_n_times_claim_next_afterwards(conn, case, seed):
    chance = random.Random(seed)
    _random_limits(conn, chance)
    enqueue_many(conn, _random_jobs(chance, 120))
    for _ in range(4):
        queues, size = chance.choice([["q1"], ["q2"], ["q1", "q2"]]), chance.choice([1, 3, 25])
        conn.execute("BEGIN")
        at_once = ids(claim(conn, queues, size))
        conn.execute("ROLLBACK")
        assert ids([job for _ in range(size) for job in claim(conn, queues, 1)]) == at_once


@pytest.mark.parametrize("case", range(6))
def test_each_claim_is_the_one_that_a_scan_over_all_jobs_would_make(conn, case, seed):
    """Random enqueues, claims, ends, releases, re-rankings and limits; every claim is predicted from the tables."""
    chance = random.Random(seed)
    running = {}

    def end_one():
        if running:
            run = running.pop(chance.choice(list(running)))
            chance.choice([complete, complete, release])(conn, run)

    def claim_one():
        if job := naive.claim_as_predicted(conn, chance.choice(["q1", "q2"])):
            running[job.id] = job

    def rerank():
        conn.execute(
            "UPDATE turnstile.job SET priority = %s WHERE id IN"
            " (SELECT id FROM turnstile.job WHERE state = 'available' ORDER BY id OFFSET %s LIMIT 3)",
            [chance.choice([-9, 0, 3]), chance.randrange(10)],
        )

    steps = [
        (10, lambda: enqueue_many(conn, _random_jobs(chance, chance.randrange(1, 6)))),
        (50, claim_one),
        (30, end_one),
        (6, rerank),
        (4, lambda: _random_limits(conn, chance)),
    ]
    enqueue_many(conn, _random_jobs(chance, 40))
    weights = [weight for weight, _ in steps]
    for _ in range(300):
        chance.choices(steps, weights)[0][1]()
    naive.claim_all_as_predicted(conn, ["q1", "q2"])
    assert rows.counts(conn).get("completed", 0) > 0, "too little happened to compare"
