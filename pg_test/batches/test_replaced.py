"""`unique_mode => 'replace'` and jobs that wait for others: the waiting job becomes what was asked for in that, too, and a batch under way is left alone."""

import pytest

from support import rows
from support.batches import (
    await_children, callback_of, children_of, claim_awaited, claim_just, complete_all, ended, enqueue_batch, nothing_comes, of,
)  # fmt: skip
from support.calls import call, cancel, claim_next, complete, enqueue, enqueue_many, fail
from support.errors import BAD_VALUE, refused

KEY = {"unique_key": "k", "unique_mode": "replace"}
DEPENDENCIES = "SELECT job, predecessor FROM turnstile.dependency ORDER BY 1, 2"


def _ask(conn, version: int, **arguments) -> int:
    return enqueue(conn, "sync", payload={"v": version}, **KEY, **arguments)


def _ask_for_batch(conn, version: int, children=2, **arguments) -> int:
    return enqueue_batch(conn, "sync", of(children), payload={"v": version}, **KEY, **arguments)


def _version(conn, run) -> int:
    complete(conn, run)
    return run.payload["v"]


def _is_sound(conn) -> None:
    assert call(conn, "check") == []


# ---- after ----------------------------------------------------------------------------------------


def test_it_waits_for_what_the_new_one_comes_after(conn):
    job = _ask(conn, 1)
    first = enqueue(conn, queue="first")
    assert _ask(conn, 2, after=[first]) == job
    assert rows.live(conn, job).state == "blocked"
    nothing_comes(conn)
    complete(conn, claim_next(conn, "first"))
    assert _version(conn, claim_awaited(conn)) == 2
    _is_sound(conn)


@pytest.mark.parametrize("end", [lambda conn, run: complete(conn, run), lambda conn, run: cancel(conn, run.id)], ids=["completed", "cancelled"])
def test_it_no_longer_waits_for_what_the_old_one_came_after(conn, end):
    old, new = (enqueue(conn, queue=queue) for queue in ("old", "new"))
    job = _ask(conn, 1, after=[old])
    nothing_comes(conn)
    assert _ask(conn, 2, after=[new]) == job
    assert conn.execute(DEPENDENCIES).fetchall() == [(job, new)]
    end(conn, claim_next(conn, "old"))
    nothing_comes(conn)
    complete(conn, claim_next(conn, "new"))
    assert _version(conn, claim_awaited(conn)) == 2
    _is_sound(conn)


@pytest.mark.parametrize("run_at", [None, "2100-01-01"])
def test_a_blocked_job_becomes_one_that_waits_for_nobody(conn, run_at):
    job = _ask(conn, 1, after=[enqueue(conn, queue="first")])
    assert _ask(conn, 2, run_at=run_at) == job
    assert rows.live(conn, job).state == ("available" if run_at is None else "scheduled")
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [job])
    assert _version(conn, claim_awaited(conn)) == 2
    _is_sound(conn)


def test_what_has_ended_before_does_not_hold_it_up(conn):
    first = enqueue(conn, queue="first")
    complete(conn, claim_next(conn, "first"))
    job = _ask(conn, 1, after=[enqueue(conn, queue="first")])
    nothing_comes(conn)
    assert _ask(conn, 2, after=[first]) == job
    assert _version(conn, claim_awaited(conn)) == 2


def test_a_wrong_end_before_it_discards_it(conn):
    first = enqueue(conn, queue="first")
    cancel(conn, first)
    job = _ask(conn, 1)
    assert _ask(conn, 2, after=[first]) == job
    nothing_comes(conn)
    assert rows.finished(conn, job).state == "discarded"


@pytest.mark.parametrize("through", [0, 1, 2])
def test_it_must_not_come_after_its_own_follower(conn, through):
    job = _ask(conn, 1)
    last = job
    for _ in range(through):
        last = enqueue(conn, "follower", after=[last])
    with refused(BAD_VALUE):
        _ask(conn, 2, after=[last])
    assert _version(conn, claim_awaited(conn)) == 1


def test_it_must_not_come_after_a_child_of_a_batch_whose_turn_waits_for_it(conn):
    job = _ask(conn, 1)
    batch = enqueue_batch(conn, children=of(1), after=[job])
    [child] = children_of(conn, batch)
    with refused(BAD_VALUE):
        _ask(conn, 2, after=[child])
    assert _version(conn, claim_awaited(conn)) == 1


def test_it_must_not_become_a_child_of_a_batch_that_comes_after_it(conn):
    job = _ask(conn, 1)
    with refused(BAD_VALUE):
        enqueue_batch(conn, children=[{"kind": "sync", **KEY}], after=[job])
    assert _version(conn, claim_awaited(conn)) == 1


def test_a_child_may_come_after_another_of_its_batch_before_that_is_open(conn):
    enqueue(conn, queue="batches", session="s")
    batch = enqueue_batch(conn, children=of(1, queue="default"), queue="batches", session="s")
    [child] = children_of(conn, batch)
    later = enqueue(conn, "later", queue="default", parent=batch, after=[child])
    other = _ask(conn, 1, parent=batch, queue="default")
    assert _ask(conn, 2, parent=batch, queue="default", after=[later]) == other
    complete(conn, claim_next(conn, "batches"))
    nothing_comes(conn, "batches")
    assert [_complete(conn) for _ in range(3)] == [child, later, other]


def _complete(conn) -> int:
    run = claim_awaited(conn)
    complete(conn, run)
    return run.id


def test_a_child_with_children_of_its_own_is_left_alone(conn):
    enqueue(conn, queue="batches", session="s")
    batch = enqueue_batch(conn, children=[{"kind": "sync", "session": "t", **KEY}], queue="batches", session="s")
    [child] = children_of(conn, batch)
    enqueue(conn, parent=child)
    assert _ask(conn, 2) != child


def test_it_may_become_a_child_of_what_it_came_after(conn):
    parent = enqueue(conn, queue="parents")
    run = claim_next(conn, "parents")
    job = _ask(conn, 1, after=[parent])
    nothing_comes(conn)
    assert _ask(conn, 2, parent=parent, queue="default") == job
    await_children(conn, run)
    assert _version(conn, claim_awaited(conn)) == 2
    assert callback_of(conn, parent, attempt=2, queue="parents").children == ended(completed=1)


def test_its_followers_go_on_waiting_for_it(conn):
    job = _ask(conn, 1)
    follower = enqueue(conn, "follower", after=[job])
    first = enqueue(conn, queue="first")
    assert _ask(conn, 2, after=[first]) == job
    nothing_comes(conn)
    complete(conn, claim_next(conn, "first"))
    assert _version(conn, claim_awaited(conn)) == 2
    assert claim_awaited(conn).id == follower


def test_a_savepoint_that_rolls_back_leaves_it_as_it_was(conn):
    first = enqueue(conn, queue="first")
    job = _ask(conn, 1, after=[first])
    conn.execute("BEGIN; SAVEPOINT s")
    assert _ask(conn, 2) == job
    conn.execute("ROLLBACK TO SAVEPOINT s; COMMIT")
    nothing_comes(conn)
    complete(conn, claim_next(conn, "first"))
    assert _version(conn, claim_awaited(conn)) == 1
    _is_sound(conn)


def test_within_one_array_the_last_element_counts(conn):
    first = enqueue(conn, queue="first")
    element = {"kind": "sync", **KEY}
    for asked, waits in (([{"after": [first]}, {}], False), ([{}, {"after": [first]}], True)):
        added = enqueue_many(conn, [element | each | {"payload": {"v": v}} for v, each in enumerate(asked)])
        assert added[0].id == added[1].id
        assert conn.execute(DEPENDENCIES).fetchall() == ([(added[0].id, first)] if waits else [])
        if waits:
            nothing_comes(conn)
            complete(conn, claim_next(conn, "first"))
        assert _version(conn, claim_awaited(conn)) == 1


def test_so_do_the_names_of_others_in_the_array(conn):
    job = _ask(conn, 1)
    added = enqueue_many(
        conn, [{"kind": "first", "ref": "a"}, {"kind": "sync", "payload": {"v": 2}, "after_refs": ["a"], "priority": -1, **KEY}]
    )
    assert added[1].id == job
    run = claim_awaited(conn)
    assert run.id == added[0].id
    complete(conn, run)
    assert _version(conn, claim_awaited(conn)) == 2


# ---- Children -------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("held_up", [False, True])
def test_a_waiting_job_becomes_a_batch(conn, session, held_up):
    after = {"after": [enqueue(conn, queue="first")]} if held_up else {}
    job = _ask(conn, 1, **after)
    assert _ask_for_batch(conn, 2, slots=1, session=session) == job
    run = claim_awaited(conn)
    nothing_comes(conn)
    complete(conn, run)
    complete_all(conn, claim_just(conn, 1))
    callback = callback_of(conn, job)
    assert (callback.kind, callback.payload, callback.children) == ("sync", {"v": 2}, ended(completed=2))
    complete(conn, callback)
    _is_sound(conn)


def _in_line(conn):
    enqueue(conn, queue="other", session="s")
    return _ask_for_batch(conn, 1, queue="other", session="s")


def _open(conn):
    return _ask_for_batch(conn, 1, queue="other")


def _with_a_callback_to_come(conn):
    job = _ask_for_batch(conn, 1, children=1, queue="other")
    complete(conn, claim_awaited(conn, "other"))
    nothing_comes(conn)
    return job


def _stepped_aside(conn):
    job = _ask(conn, 1, queue="other")
    run = claim_next(conn, "other")
    enqueue(conn, "child", queue="other", parent=job)
    await_children(conn, run)
    return job


def _failed_with_a_child(conn):
    job = _ask(conn, 1, queue="other")
    run = claim_next(conn, "other")
    enqueue(conn, "child", queue="other", parent=job)
    fail(conn, run, retry_in="1 hour")
    return job


def _failed_after_a_child(conn):
    job = _ask(conn, 1, queue="other")
    run = claim_next(conn, "other")
    enqueue(conn, "child", queue="other", parent=job)
    complete(conn, claim_awaited(conn, "other"))
    fail(conn, run, retry_in="1 hour")
    return job


def _following(conn):
    return _ask_for_batch(conn, 1, queue="other", after=[enqueue(conn, queue="other")])


UNDER_WAY = [_in_line, _open, _with_a_callback_to_come, _stepped_aside, _failed_with_a_child, _failed_after_a_child, _following]


@pytest.mark.parametrize("ask", [_ask, _ask_for_batch])
@pytest.mark.parametrize("begin", UNDER_WAY)
def test_a_batch_is_left_alone_and_one_more_is_added(conn, begin, ask):
    batch = begin(conn)
    before, children = rows.live(conn, batch), children_of(conn, batch)
    job = ask(conn, 2)
    assert job != batch
    assert (rows.live(conn, batch), children_of(conn, batch)) == (before, children)
    # That one is replaced as any, unless it is a batch itself.
    again = _ask(conn, 3, queue="mine")
    assert (again == job) == (ask is _ask)
    assert _version(conn, claim_awaited(conn, "mine")) == 3
    _is_sound(conn)


def test_a_batch_whose_own_mode_holds_the_key_to_its_end_is_a_duplicate(conn):
    batch = enqueue_batch(conn, children=of(1), unique_key="k", unique_mode="until_executed")
    assert _ask(conn, 2) == batch
    assert _ask_for_batch(conn, 2) == batch
    assert len(children_of(conn, batch)) == 1


@pytest.mark.parametrize("mode", ["until_executing", "until_executed", "until_and_while_executing", "while_executing"])
@pytest.mark.parametrize("what", ["a batch", "a run", "a follower"])
def test_in_other_modes_what_waits_for_others_is_a_duplicate(conn, mode, what):
    key = {"unique_key": "k", "unique_mode": mode}
    if what == "a follower":
        holder = enqueue(conn, after=[enqueue(conn, queue="first")], **key)
    elif what == "a run":
        holder = enqueue(conn, **key)
        run = claim_next(conn)
        enqueue(conn, "child", queue="other", parent=holder)
        await_children(conn, run)
    else:
        holder = enqueue_batch(conn, children=of(1, queue="other"), **key)
    assert (enqueue(conn, **key) == holder) == (mode != "while_executing")
