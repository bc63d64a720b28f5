"""after in one enqueue_many by local names, in any order; circles and unknown names are refused and add nothing."""

import random

import pytest

from support import rows
from support.batches import claim_awaited, claim_just, complete_all, enqueue_batch, nothing_comes, of
from support.calls import claim_next, complete, enqueue, enqueue_many, ids
from support.errors import BAD_VALUE, NO_SUCH_JOB, refused


def _job(ref: str | None = None, *after: str, **keys) -> dict:
    named = {"ref": ref, "after_refs": list(after)}
    return {"kind": ref or "work", **{name: value for name, value in named.items() if value}, **keys}


def test_a_name_may_be_used_before_it_is_given(conn):
    made = ids(enqueue_many(conn, [_job("c", "a", "b"), _job("b", "a"), _job("a")]))
    for expected in reversed(made):
        [run] = claim_just(conn, 1)
        assert run.id == expected
        complete(conn, run)


def test_a_random_graph_runs_in_its_order(conn, seed):
    """Each job starts after all that it comes after, whatever the order of the array."""
    chance = random.Random(seed)
    after = {f"j{n}": chance.sample([f"j{m}" for m in range(n)], min(n, chance.randint(0, 4))) for n in range(60)}
    jobs = [_job(name, *names) for name, names in after.items()]
    chance.shuffle(jobs)
    enqueue_many(conn, jobs)
    done = []
    while len(done) < len(jobs):
        run = claim_awaited(conn)
        assert set(after[run.kind]) <= set(done), f"{run.kind} before {after[run.kind]}"
        complete(conn, run)
        done.append(run.kind)
    assert rows.counts(conn) == {"completed": len(jobs)}


def test_all_that_may_run_at_once_does(conn):
    enqueue_many(conn, [_job("top"), *[_job(f"side {n}", "top") for n in range(5)], _job("bottom", *[f"side {n}" for n in range(5)])])
    complete_all(conn, claim_just(conn, 1))
    runs = claim_just(conn, 5)
    complete_all(conn, runs)
    [run] = claim_just(conn, 1)
    assert run.kind == "bottom"


def test_ids_and_names_together(conn):
    first = enqueue(conn)
    made = ids(enqueue_many(conn, [_job("a", priority=9), _job("b", "a", after=[first])]))
    runs = claim_just(conn, 2)
    assert ids(runs) == [first, made[0]]
    complete(conn, runs[1])
    nothing_comes(conn)
    complete(conn, runs[0])
    assert ids(claim_just(conn, 1)) == [made[1]]


def test_names_are_of_one_call(conn):
    enqueue_many(conn, [_job("a")])
    with refused(BAD_VALUE):
        enqueue_many(conn, [_job("b", "a")])
    enqueue_many(conn, [_job("a"), _job("b", "a")])


def test_a_name_stands_for_the_job_that_holds_the_key(conn):
    holder = enqueue(conn, unique_key="k")
    first, follower = enqueue_many(conn, [_job("a", unique_key="k"), _job("b", "a")])
    assert (first.id, first.created) == (holder, False)
    [run] = claim_just(conn, 1)
    assert run.id == holder
    complete(conn, run)
    assert ids(claim_just(conn, 1)) == [follower.id]


def test_children_are_added_with_names(conn):
    batch = enqueue_batch(conn, children=of(1))
    made = ids(enqueue_many(conn, [_job("b", "a", parent=batch), _job("a", parent=batch)]))
    runs = claim_just(conn, 2)
    assert made[0] not in ids(runs)
    complete_all(conn, runs)
    assert claim_awaited(conn).id == made[0]


BAD = {
    "a circle of one": [_job("a", "a")],
    "a circle of two": [_job("a", "b"), _job("b", "a")],
    "a circle of four": [_job("a", "d"), _job("b", "a"), _job("c", "b"), _job("d", "c"), _job("e", "a")],
    "an unknown name": [_job("a"), _job("b", "c")],
    "a name given twice": [_job("a"), _job("a")],
    "an empty name": [_job(None) | {"ref": ""}],
    "a number for a name": [_job(None) | {"ref": 7}],
    "names that are no array": [_job("a"), _job(None) | {"after_refs": "a"}],
    "numbers for names": [_job("a"), _job(None) | {"after_refs": [1]}],
    "ids that are no array": [_job(None, after=1)],
    "names for ids": [_job("a", after=["a"])],
    "a number that is none": [_job("a", after=[1.5])],
    "a text for a boolean": [_job("a", after_any_end="yes")],
    "a text for a parent": [_job("a", parent="b")],
}


@pytest.mark.parametrize("jobs", BAD.values(), ids=BAD.keys())
def test_what_makes_no_sense_is_refused_and_adds_nothing(conn, jobs):
    with refused(BAD_VALUE):
        enqueue_many(conn, [_job("first"), *jobs, _job("last")])
    assert rows.everything(conn) == []
    assert claim_next(conn) is None


def test_unknown_ids_are_refused_and_add_nothing(conn):
    live = enqueue(conn)
    for after in ([10**9], [live, 10**9]):
        with refused(NO_SUCH_JOB):
            enqueue(conn, after=after)
        with refused(NO_SUCH_JOB):
            enqueue_many(conn, [_job("a"), _job("b", "a", after=after)])
        with refused(NO_SUCH_JOB):
            enqueue_batch(conn, children=of(2), after=after)
    assert rows.counts(conn) == {"available": 1}


def test_a_child_that_comes_after_its_own_parent_is_a_circle(conn):
    """The parent waits for it, and it for the parent."""
    outer = enqueue_batch(conn, children=of(1))
    inner = enqueue_batch(conn, children=of(1), parent=outer)
    before = rows.everything(conn)
    for parent, after in ((outer, outer), (inner, inner), (inner, outer)):
        with refused(BAD_VALUE), conn.transaction():
            enqueue(conn, parent=parent, after=[after])
    assert rows.everything(conn) == before


def test_a_child_that_comes_after_a_follower_of_its_parent_is_a_circle(conn):
    batch = enqueue_batch(conn, children=of(1))
    follower = enqueue(conn, after=[batch])
    with refused(BAD_VALUE), conn.transaction():
        enqueue(conn, parent=batch, after=[follower])


def test_a_follower_moved_under_what_it_comes_after_is_a_circle(conn):
    batch = enqueue_batch(conn, children=of(1))
    follower = enqueue(conn, after=[batch])
    with refused(BAD_VALUE), conn.transaction():
        conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [batch, follower])


def test_a_circle_through_two_batches(conn):
    """Each has a child that comes after the other."""
    first, second = (enqueue_batch(conn, children=of(1)) for _ in range(2))
    enqueue(conn, parent=first, after=[second])
    with refused(BAD_VALUE), conn.transaction():
        enqueue(conn, parent=second, after=[first])


def test_a_refusal_in_a_savepoint_leaves_the_transaction_usable(conn):
    conn.execute("BEGIN")
    first = enqueue(conn)
    for jobs in BAD.values():
        with refused(BAD_VALUE), conn.transaction():
            enqueue_many(conn, jobs)
    follower = enqueue(conn, after=[first])
    conn.execute("COMMIT")
    complete_all(conn, claim_just(conn, 1))
    assert ids(claim_just(conn, 1)) == [follower]
