"""Paused queues, tenants and accounts start nothing, and hide nothing of others."""

import pytest

from support import rows
from support.calls import claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.gates import ACCOUNT, QUEUE, TENANT
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
def test_a_pause_interrupts_nobody(conn, gate):
    enqueue_times(conn, 2, **gate.behind)
    run = claim_next(conn, gate.queue)
    _pause(conn, gate)
    assert rows.state(conn, run.id) == "running"
    assert complete(conn, run)
    assert claim_next(conn, gate.queue) is None


@each_pausable
def test_what_is_paused_hides_nobody_else(conn, gate):
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
