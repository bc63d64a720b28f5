"""The queue `*` in claims: all queues at once, by (priority, position)."""

from support.calls import call, claim, claim_next, complete_and_claim_next, enqueue, ids
from support.gates import GATES
from support.settings import configure

import pytest


def test_jobs_of_all_queues_come_by_priority_and_position(conn):
    late = enqueue(conn, queue="a", priority=5)
    rest = [enqueue(conn, queue=queue) for queue in ("a", "b", "c", "b", "a", "default")]
    urgent = enqueue(conn, queue="z", priority=-1)
    assert claim_next(conn, "*").id == urgent
    assert ids(claim(conn, ["*"], 4)) == rest[:4]
    assert [claim_next(conn, "*").id for _ in range(3)] == [*rest[4:], late]
    assert claim_next(conn, "*") is None


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_what_may_not_run_hides_nothing_of_other_queues(conn, gate):
    gate.limit(conn, 1)
    behind = [enqueue(conn, **gate.behind) for _ in range(3)]
    free = [enqueue(conn, queue=queue) for queue in ("a", "b")]
    assert ids(claim(conn, ["*"], 10)) == [behind[0], *free]
    assert claim_next(conn, "*") is None


def test_all_queues_may_stand_behind_others(conn):
    rest = enqueue(conn, queue="a", priority=-9)
    urgent = enqueue(conn, queue="urgent")
    assert ids(claim(conn, ["urgent", "*"], 2)) == [urgent, rest]


def test_a_paused_queue_is_left_out(conn):
    enqueue(conn, queue="a")
    open_to_all = enqueue(conn, queue="b")
    configure(conn, "queue", "a", paused=True)
    assert claim_next(conn, "*").id == open_to_all
    assert claim_next(conn, "*") is None


def test_finishing_and_claiming_takes_from_all_queues_if_asked(conn):
    first, same, other = enqueue(conn, queue="a"), enqueue(conn, queue="a", priority=1), enqueue(conn, queue="b")
    run = claim_next(conn, "*")
    assert run.id == first
    run = complete_and_claim_next(conn, run, queue="*")
    assert run.id == other
    assert complete_and_claim_next(conn, run, queue="*").id == same


def test_due_jobs_of_all_queues_are_taken_inside_a_transaction(conn):
    job_id = enqueue(conn, queue="a", run_at="2100-01-01")
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp()")
    conn.execute("BEGIN")
    assert claim_next(conn, "*").id == job_id
    conn.execute("COMMIT")


def test_a_batch_over_queues_is_what_single_claims_would_take(conn):
    for n in range(60):
        enqueue(conn, queue=f"q{n % 7}", priority=n % 3, tenant=f"t{n % 4}", session=f"s{n % 5}" if n % 2 else None)
    conn.execute("BEGIN")
    batch = ids(call(conn, "claim", queues=["*"], max_jobs=40))
    conn.execute("ROLLBACK")
    singly = []
    for _ in range(len(batch)):
        singly.append(claim_next(conn, "*").id)
    assert batch == singly
    assert claim_next(conn, "*") is None or len(batch) == 40
