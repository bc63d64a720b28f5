"""A gate that is paused hides nothing else of it: not that it is full, and not when its jobs could start."""

import pytest

from support.batches import enqueue_batch, of, set_batch
from support.calls import call, claim, claim_next, complete, enqueue, enqueue_many
from support.settings import configure

GATES = {
    "queue": (("q",), "max_running", {}),
    "tenant": (("a",), "slots", {"tenant": "a"}),
    "account": (("a", "x"), "slots", {"tenant": "a", "account": "x"}),
}
each_gate = pytest.mark.parametrize("gate", GATES)


def _why(conn, job) -> list:
    return [(row.reason, row.gate, row.running, row.slots) for row in call(conn, "why_waiting", job_id=job)]


def _summary(conn) -> dict:
    return {(row.reason, row.gate): row.lanes for row in call(conn, "why_waiting_summary", queue="q")}


def _estimate(conn, job):
    [row] = call(conn, "wait_estimate", job_id=job)
    return row


def _one_runs(conn, behind) -> int:
    """Returns another job."""
    enqueue(conn, queue="q", **behind)
    assert claim_next(conn, "q")
    return enqueue(conn, queue="q", **behind)


@each_gate
def test_a_gate_that_is_paused_and_full_is_both(conn, gate):
    key, limit, behind = GATES[gate]
    configure(conn, gate, *key, **{limit: 1})
    job = _one_runs(conn, behind)
    full, paused = ("full", gate, 1, 1), ("paused", gate, None, None)
    assert _why(conn, job) == [full]
    configure(conn, gate, *key, paused=True)
    assert _why(conn, job) == [full, paused]
    assert _summary(conn) == {("full", gate): 1, ("paused", gate): 1}
    configure(conn, gate, *key, paused=False, paused_until="2100-01-01")
    assert _why(conn, job) == [full, paused]
    assert _summary(conn) == {("full", gate): 1, ("paused", gate): 1}


@each_gate
def test_a_gate_that_is_paused_and_has_room_is_paused(conn, gate):
    key, limit, behind = GATES[gate]
    configure(conn, gate, *key, paused=False, **{limit: 2})
    job = _one_runs(conn, behind)
    configure(conn, gate, *key, paused=True)
    assert _why(conn, job) == [("paused", gate, None, None)]
    assert _summary(conn) == {("paused", gate): 1}


@each_gate
def test_a_limit_that_is_inherited_counts(conn, gate):
    key, limit, behind = GATES[gate]
    configure(conn, gate, *["*" for _ in key], **{limit: 1})
    job = _one_runs(conn, behind)
    configure(conn, gate, *key, paused=True)
    assert _why(conn, job) == [("full", gate, 1, 1), ("paused", gate, None, None)]


def test_a_batch_that_is_paused_and_full_is_both(conn):
    batch = enqueue_batch(conn, children=of(2), queue="q", slots=1)
    claim_next(conn, "q")
    [waiting] = conn.execute("SELECT id FROM turnstile.job WHERE parent = %s AND state = 'available'", [batch]).fetchone()
    set_batch(conn, batch, paused=True)
    assert _why(conn, waiting) == [("full", "batch", 1, 1), ("paused", "batch", None, None)]
    assert _summary(conn) == {("full", "batch"): 1, ("paused", "batch"): 1}


def test_a_key_whose_endpoint_is_paused(conn):
    [endpoint] = call(conn, "set_endpoint", pattern="hook", url="http://localhost:1/")
    key = endpoint.concurrency_key
    configure(conn, "concurrency", key, slots=1)
    job = _one_runs(conn, {"concurrency_key": key})
    call(conn, "set_endpoint", pattern="hook", paused=True)
    assert _why(conn, job) == [("full", "concurrency", 1, 1), ("paused", "concurrency", None, None)]


# ---- When it starts -------------------------------------------------------------------------------


def _steady(conn, tenant=None) -> int:
    """Jobs start, so that the pace is known. Returns one that waits."""
    enqueue_many(conn, [{"kind": "work", "queue": "q", "tenant": tenant}] * 40)
    for _ in range(20):
        complete(conn, claim_next(conn, "q"))
    return enqueue(conn, queue="q", tenant=tenant)


@pytest.mark.parametrize("settings", [{"paused": True}, {"slots": 0}], ids=["paused", "no slots"])
@pytest.mark.parametrize("gate", ["queue", "tenant"])
def test_nothing_starts_where_nothing_moves(conn, gate, settings):
    job = _steady(conn, "a")
    assert _estimate(conn, job).starts_at is not None
    if gate == "queue":
        settings = {"max_running" if name == "slots" else name: value for name, value in settings.items()}
    configure(conn, gate, {"queue": "q", "tenant": "a"}[gate], **settings)
    found = _estimate(conn, job)
    assert (found.bottleneck, found.starts_per_minute, found.starts_at) == (gate, None, None)


@pytest.mark.parametrize("gate", ["queue", "tenant"])
def test_a_pause_with_an_end_is_over_then_though_no_pace_is_known(conn, gate):
    job = enqueue(conn, queue="q", tenant="a")
    configure(conn, gate, {"queue": "q", "tenant": "a"}[gate], paused_until="2100-01-01 00:00+00")
    found = _estimate(conn, job)
    assert (found.bottleneck, found.starts_at.year) == (gate, 2100)
    configure(conn, "queue", "q", max_running=0)
    assert _estimate(conn, job).starts_at is None


# ---- Who could take it ----------------------------------------------------------------------------


def test_a_queue_from_which_nothing_was_ever_there_to_claim_is_attended(conn):
    assert claim(conn, ["p", "q", "r"], 1) == []
    for queue in "pqr":
        assert _why(conn, enqueue(conn, queue=queue)) == []
        assert {(row.reason, row.gate) for row in call(conn, "why_waiting_summary", queue=queue)} == {("behind", "queue")}
    assert _why(conn, enqueue(conn, queue="other")) == [("no_worker", "queue", 0, None)]
