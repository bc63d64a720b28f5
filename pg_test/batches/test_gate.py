"""The gate of a batch: its slots, rate and pause are a row, hold from the next claim on, and are never passed."""

import random

import pytest

from support import rows
from support.batches import (
    callback_of, children_of, claim_awaited, claim_just, complete_all, enqueue_batch, nothing_comes, of, running, set_batch,
)  # fmt: skip
from support.buckets import overfull
from support.calls import call, claim, claim_next, complete, enqueue, enqueue_times, fail, ids, release
from support.gates import GATES
from support.settings import configure
from support.sleepers import put_to_sleep


def _by_update(conn, batch: int, **columns) -> None:
    for name, value in columns.items():
        changed = conn.execute(f"UPDATE turnstile.batch SET {name} = %s WHERE id = %s", [value, batch])
        assert changed.rowcount == 1


def _by_call(conn, batch: int, **columns) -> None:
    cleared = [name for name, value in columns.items() if value is None]
    given = {name: value for name, value in columns.items() if value is not None}
    row = set_batch(conn, batch, **given, **({"clear": cleared} if cleared else {}))
    assert {name: getattr(row, name) for name in columns if name != "rate_per"} == {
        name: value for name, value in columns.items() if name != "rate_per"
    }


each_way = pytest.mark.parametrize("change", [_by_update, _by_call], ids=["UPDATE", "set_batch"])


# ---- Slots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [None, 0, 1, 3, 7])
def test_null_is_no_limit_and_nought_is_none(conn, slots):
    enqueue_batch(conn, children=of(5), slots=slots)
    claim_just(conn, 5 if slots is None else min(slots, 5))


@each_way
def test_slots_hold_from_the_next_claim_on_and_interrupt_no_run(conn, change):
    batch = enqueue_batch(conn, children=of(9), slots=3)
    runs = claim_just(conn, 3)
    change(conn, batch, slots=1)
    assert running(conn, batch) == 3
    for run, admitted in zip(runs, [0, 0, 1], strict=True):
        complete(conn, run)
        claim_just(conn, admitted)
    change(conn, batch, slots=4)
    claim_just(conn, 3)
    change(conn, batch, slots=0)
    nothing_comes(conn)
    change(conn, batch, slots=None)
    claim_just(conn, 2)


ENDS = {
    "complete": complete,
    "fail": lambda conn, run: fail(conn, run, retry_in="1 hour"),
    "discard": lambda conn, run: fail(conn, run, discard=True),
    "DELETE": lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id]),
    "taken out": lambda conn, run: conn.execute("UPDATE turnstile.job SET parent = NULL WHERE id = %s", [run.id]),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_each_end_admits_one_more(conn, end):
    batch = enqueue_batch(conn, children=of(6), slots=2)
    made = children_of(conn, batch)
    first, second = claim_just(conn, 2)
    assert ids([first, second]) == made[:2]
    end(conn, first)
    assert ids(claim_just(conn, 1)) == made[2:3]
    end(conn, second)
    assert ids(claim_just(conn, 1)) == made[3:4]


def test_a_released_child_frees_its_slot_once(conn):
    enqueue_batch(conn, children=of(3), slots=1)
    for _ in range(3):
        release(conn, claim_awaited(conn))
    claim_just(conn, 1)


@each_way
@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_slots_that_were_rolled_back_were_never_set(conn, other, change, undo):
    batch = enqueue_batch(conn, children=of(4), slots=1)
    conn.execute("BEGIN; SAVEPOINT s")
    change(conn, batch, slots=3)
    claim_just(other, 1)
    conn.execute(undo)
    nothing_comes(other)


@each_way
def test_more_slots_wake_who_sleeps(db, conn, change):
    batch = enqueue_batch(conn, children=of(2), slots=0)
    nothing_comes(conn)
    [sleeper] = put_to_sleep(db, conn, 1, "SELECT id FROM turnstile.claim_next(wait => '60 s')")
    change(conn, batch, slots=1)
    assert sleeper.returned().error is None
    assert sleeper.rows or claim_next(conn)


def test_random_changes_of_slots_are_kept_exactly(db, conn, seed):
    """After each step as many run as may, or more where fewer may now than ran already."""
    chance = random.Random(seed)
    connections = [conn, db.connect(), db.connect()]
    batch = enqueue_batch(conn, children=of(120), slots=3)
    slots, runs, left = 3, [], 120
    while left:
        slots = chance.choice([slots, chance.randint(0, 9)])
        chance.choice([_by_update, _by_call])(chance.choice(connections), batch, slots=slots)
        before = len(runs)
        for connection in connections:
            runs += claim(connection, ["default"], chance.randint(1, 4))
            assert running(conn, batch) <= max(slots, before)
        while (job := claim_next(chance.choice(connections))) is not None:
            runs.append(job)
        assert len(runs) == running(conn, batch) == max(before, min(slots, left))
        chance.shuffle(runs)
        for _ in range(chance.randint(0, len(runs))):
            complete(chance.choice(connections), runs.pop())
            left -= 1
    callback_of(conn, batch)


# ---- Beside other gates ---------------------------------------------------------------------------


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
@pytest.mark.parametrize(("own", "others"), [(2, 5), (5, 2)])
def test_children_pass_their_own_gates_as_well(conn, gate, own, others):
    gate.limit(conn, own)
    batch = enqueue_batch(conn, children=of(8, **gate.behind), slots=others)
    runs = claim_just(conn, 2, gate.queue)
    if own < others:
        gate.limit(conn, 9)
    else:
        _by_update(conn, batch, slots=9)
    runs += claim_just(conn, 3, gate.queue)
    assert running(conn, batch) == 5
    complete_all(conn, runs)


def test_a_full_batch_hides_no_other_job(conn):
    enqueue_batch(conn, children=of(20), slots=1)
    enqueue_batch(conn, children=of(20), slots=0, tenant="acme")
    enqueue_batch(conn, children=of(3), slots=2)
    others = [enqueue(conn), enqueue(conn, tenant="acme")]
    taken = claim_just(conn, 5)
    assert set(others) <= set(ids(taken))


def test_room_that_a_tenant_cannot_use_goes_to_the_next(conn):
    """The batch has room, its first children's tenant has none."""
    configure(conn, "tenant", "acme", slots=1)
    enqueue_batch(conn, children=[*of(3, tenant="acme"), *of(3, tenant="globex")], slots=3)
    taken = claim_just(conn, 3)
    assert [run.tenant for run in taken] == ["acme", "globex", "globex"]


def test_children_of_children_pass_the_gate_of_their_own_parent(conn):
    outer = enqueue_batch(conn, children=of(2), slots=3)
    inner = enqueue_batch(conn, children=of(3), slots=2, parent=outer)
    claim_just(conn, 4)
    assert (running(conn, outer), running(conn, inner)) == (2, 2)
    enqueue(conn, parent=outer)
    claim_just(conn, 1)


def test_a_batch_in_a_full_batch_opens_when_there_is_room(conn):
    """It is a child like others; once it is open it occupies nothing."""
    outer = enqueue_batch(conn, children=of(1), slots=1)
    inner = enqueue_batch(conn, children=of(2), parent=outer)
    [run] = claim_just(conn, 1)
    assert run.id == children_of(conn, outer)[0]
    complete(conn, run)
    assert ids(claim_just(conn, 2)) == children_of(conn, inner)
    enqueue(conn, parent=outer)
    claim_just(conn, 1)


# ---- Pause and rate -------------------------------------------------------------------------------


@each_way
def test_a_paused_batch_starts_nothing_and_interrupts_nothing(conn, change):
    batch = enqueue_batch(conn, children=of(3))
    run = claim_awaited(conn)
    change(conn, batch, paused=True)
    nothing_comes(conn)
    assert complete(conn, run) is True
    free = enqueue(conn)
    assert ids(claim_just(conn, 1)) == [free]
    change(conn, batch, paused=False)
    claim_just(conn, 2)


def test_a_pause_until_a_time_ends_by_itself(conn):
    batch = enqueue_batch(conn, children=of(2))
    _by_update(conn, batch, paused_until="2100-01-01")
    nothing_comes(conn)
    _by_update(conn, batch, paused_until=rows.clock(conn))
    claim_just(conn, 2)


def test_a_pause_does_not_hold_the_callback_back(conn):
    """The callback is a job of its own queue, not one of its batch."""
    batch = enqueue_batch(conn, children=of(1))
    [run] = claim_just(conn, 1)
    _by_update(conn, batch, paused=True, slots=0)
    complete(conn, run)
    callback_of(conn, batch)


@each_way
def test_a_rate_begins_with_its_burst_and_holds_nobody_else_up(conn, change):
    batch = enqueue_batch(conn, children=of(7), rate=1, rate_per="1 hour", burst=2)
    others = enqueue_times(conn, 2)
    children = children_of(conn, batch)
    assert sorted(ids(claim_just(conn, 4))) == sorted([*children[:2], *others])
    change(conn, batch, rate=None)
    claim_awaited(conn)
    change(conn, batch, rate=1, burst=3)
    assert ids(claim_just(conn, 3)) == children[3:6]
    change(conn, batch, rate=None)
    assert ids(claim_just(conn, 1)) == children[6:]


@each_way
def test_a_rate_set_while_it_runs_holds_from_then_on(conn, change):
    batch = enqueue_batch(conn, children=of(6))
    claim_awaited(conn)
    change(conn, batch, rate=1, rate_per="1 hour", burst=1)
    claim_just(conn, 1)
    change(conn, batch, rate=None, burst=None)
    claim_just(conn, 4)


STARTS = """
    SELECT (extract(epoch FROM claimed_at) * 1000000)::bigint FROM turnstile.jobs
     WHERE id = ANY(%s) AND claimed_at IS NOT NULL ORDER BY 1
"""


def test_starts_keep_to_the_bucket(conn):
    batch = enqueue_batch(conn, children=of(40), rate=200, rate_per="1 second", burst=4)
    made, claimed = children_of(conn, batch), []
    while len(claimed) < 40:
        claimed += ids(claim(conn, ["default"], 1 if len(claimed) % 2 else 7))
    assert claimed == made
    starts = [row[0] for row in conn.execute(STARTS, [made])]
    assert len(starts) == 40
    assert overfull(starts, 200, 1_000_000, 4) == []


# ---- The row --------------------------------------------------------------------------------------


def test_what_is_not_named_stays_and_clear_takes_away(conn):
    batch = enqueue_batch(conn, children=of(1), slots=2, rate=3, rate_per="1 minute", burst=4, max_failed=5)
    row = set_batch(conn, batch)
    assert (row.id, row.slots, row.rate, row.burst, row.max_failed, row.priority) == (batch, 2, 3, 4, 5, None)
    row = set_batch(conn, batch, slots=7, clear=["rate", "burst", "max_failed"])
    assert (row.slots, row.rate, row.burst, row.max_failed) == (7, None, None, None)


def test_a_rebuild_keeps_the_settings(conn):
    batch = enqueue_batch(conn, children=of(5), slots=2)
    claim_awaited(conn)
    conn.execute("SELECT turnstile.rebuild()")
    claim_just(conn, 1)
    assert running(conn, batch) == 2


def test_a_run_that_adds_children_may_have_no_row_and_then_no_limit(conn):
    enqueue(conn)
    run = claim_next(conn)
    for _ in range(4):
        enqueue(conn, parent=run.id)
    assert len(claim_just(conn, 4)) == running(conn, run.id) == 4
    complete_all(conn, [rows.live(conn, child) for child in children_of(conn, run.id)])
    assert call(conn, "await_children", job_id=run.id, attempt=run.attempt)[0][0] is False


def test_a_run_that_adds_children_is_given_a_row_with_its_first_setting(conn):
    enqueue(conn)
    run = claim_next(conn)
    set_batch(conn, run.id, slots=1)
    for _ in range(3):
        enqueue(conn, parent=run.id)
    claim_just(conn, 1)
    set_batch(conn, run.id, slots=2)
    claim_just(conn, 1)
