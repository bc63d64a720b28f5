"""why_waiting() tells of a job that waits for what an ancestor holds, which may itself wait for the job."""

import pytest

from support.calls import call, claim_next, enqueue
from support.settings import configure

# A gate for one, by what a job has and how the gate is set.
GATES = {
    "queue": ({"queue": "q"}, ("q",)),
    "tenant": ({"queue": "q", "tenant": "a"}, ("a",)),
    "account": ({"queue": "q", "tenant": "a", "account": "x"}, ("a", "x")),
    "concurrency": ({"queue": "q", "concurrency_key": "c"}, ("c",)),
}


def _rows(conn, job: int, reason: str) -> list:
    return [row for row in call(conn, "why_waiting", job_id=job) if row.reason == reason]


@pytest.mark.parametrize("gate", GATES)
def test_a_child_that_needs_what_its_running_parent_holds(conn, gate):
    options, names = GATES[gate]
    configure(conn, gate, *names, **{"max_running" if gate == "queue" else "slots": 1})
    parent = enqueue(conn, **options)
    run = claim_next(conn, "q")
    child = enqueue(conn, parent=parent, **options)
    [row] = _rows(conn, child, "full")
    assert (row.gate, row.holder, row.running, row.slots) == (gate, parent, 1, 1)
    assert "await_children" in row.detail
    call(conn, "await_children", job_id=run.id, attempt=run.attempt)
    assert claim_next(conn, "q").id == child


def test_a_grandchild_too_and_one_in_the_way_that_is_no_ancestor_is_another_matter(conn):
    configure(conn, "concurrency", "c", slots=2)
    first = enqueue(conn, concurrency_key="c")
    other = enqueue(conn, concurrency_key="c")
    assert [claim_next(conn).id for _ in range(2)] == [first, other]
    child = enqueue(conn, parent=first)
    assert claim_next(conn).id == child
    grandchild = enqueue(conn, parent=child, concurrency_key="c")
    [row] = _rows(conn, grandchild, "full")
    assert (row.holder, row.running) == (None, 2)
    configure(conn, "concurrency", "c", slots=1)
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [other])
    [row] = _rows(conn, grandchild, "full")
    assert (row.holder, row.running, "descendant" in row.detail) == (first, 1, True)


def test_a_child_with_the_unique_key_of_its_running_parent(conn):
    options = {"unique_key": "k", "unique_mode": "while_executing"}
    parent = enqueue(conn, **options)
    claim_next(conn)
    child = enqueue(conn, parent=parent, **options)
    [row] = _rows(conn, child, "unique_running")
    assert (row.gate, row.holder, "descendant" in row.detail) == ("unique", parent, True)
