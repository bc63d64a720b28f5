"""Parents hold their sessions while they wait for their children. So jobs can come to wait for each other, which why_waiting tells."""

import pytest
from psycopg import sql
from psycopg.errors import InvalidParameterValue

from support.batches import ELSEWHERE, awaited, children_of, claim_awaited, ends_as, enqueue_batch, nothing_comes, of
from support.calls import call, cancel, claim_next, complete, enqueue

OPEN = "SELECT opened_at IS NOT NULL FROM turnstile.batch WHERE id = %s"

IN_LINE = "FROM turnstile.job WHERE session = 's' AND parent IS NOT NULL AND state = 'available'"


def details(conn, job: int) -> list[str]:
    return [row.detail for row in call(conn, "why_waiting", job_id=job)]


def circles(conn, job: int) -> list[set[int]]:
    """Those that the sentences name."""
    named = [detail.partition("wait for each other: ")[2].partition(".")[0] for detail in details(conn, job)]
    return [{int(id) for id in names.split(", ")} for names in named if names]


def opened(conn, queue: str, batch: int) -> int:
    """A batch whose turn has come."""
    claim_next(conn, queue)
    awaited(conn, OPEN, True, batch)
    return batch


def crossed(conn, **names) -> tuple[int, int]:
    """Two parents that hold the session for which a child of the other one waits."""
    one = enqueue_batch(conn, queue="a", session="s", children=of(1, queue="b", session="s"), **names)
    other = enqueue_batch(conn, queue="b", session="s", children=of(1, queue="a", session="s"), **names)
    opened(conn, "b", other)
    opened(conn, "a", one)
    nothing_comes(conn, "a")
    nothing_comes(conn, "b")
    return one, other


def with_children(conn, *parents) -> set[int]:
    return {*parents, *(child for parent in parents for child in children_of(conn, parent))}


def test_parents_that_hold_the_sessions_of_each_others_children(conn):
    one, other = crossed(conn)
    circle = with_children(conn, one, other)
    assert len(circle) == 4
    for job in circle:
        assert circles(conn, job) == [circle]


def test_who_waits_for_them_is_told_too(conn):
    one, other = crossed(conn)
    circle = with_children(conn, one, other)
    behind = enqueue(conn, queue="a", session="s")
    after = enqueue(conn, after=[behind])
    assert circles(conn, after) == [circle]
    assert circles(conn, behind) == [circle]
    listed = call(conn, "why_waiting_many", job_ids=[behind, *circle])
    assert [row.job_id for row in listed if "wait for each other" in row.detail] == [behind, *circle]


def test_a_child_that_is_not_the_first(conn):
    """Its siblings wait for nothing but their time, and there are some."""
    later = of(20, run_at="2100-01-01")
    one = enqueue_batch(conn, queue="a", session="s", children=[*later, *of(1, queue="b", session="s"), *later])
    other = enqueue_batch(conn, queue="b", session="s", children=[*later, *of(1, queue="a", session="s"), *later])
    opened(conn, "b", other)
    opened(conn, "a", one)
    awaited(conn, f"SELECT count(*) {IN_LINE}", 2)
    [stuck] = conn.execute(f"SELECT array_agg(id) {IN_LINE}").fetchone()
    assert circles(conn, one) == [{one, other, *stuck}]


def test_a_child_that_comes_after_a_job_behind_its_parent(conn):
    batch = opened(conn, "a", enqueue_batch(conn, queue="a", session="s", children=of(1)))
    behind = enqueue(conn, queue="a", session="s")
    child = enqueue(conn, parent=batch, after=[behind])
    complete(conn, claim_awaited(conn, "a"))
    assert circles(conn, child) == [{batch, behind, child}]


def test_two_transactions_that_each_close_half_of_a_circle(conn, other):
    one, another = (enqueue_batch(conn, children=of(1)) for _ in range(2))
    with other.transaction():
        second = enqueue(other, parent=another, after=[one])
        first = enqueue(conn, parent=one, after=[another])
    for job in (one, another, first, second):
        assert circles(conn, job) == [{one, another, first, second}]
    with pytest.raises(InvalidParameterValue):
        enqueue(conn, parent=one, after=[another])


def test_they_go_on_when_one_is_cancelled(conn):
    one, other = crossed(conn)
    [child] = children_of(conn, one)
    cancel(conn, other)
    ends_as(conn, other, "cancelled")
    run = claim_awaited(conn, "b")
    assert run.id == child
    complete(conn, run)
    assert claim_awaited(conn, "a").id == one


def test_of_a_line_that_goes_on_nothing_is_said(conn):
    batch = opened(conn, "a", enqueue_batch(conn, queue="a", session="s", children=of(2, queue="b", session="s")))
    following = enqueue(conn, queue="a", session="s")
    last = enqueue(conn, after=[following])
    assert claim_awaited(conn, "b").id in children_of(conn, batch)
    for job in (batch, following, last):
        assert details(conn, job)
        assert circles(conn, job) == []


def test_children_wait_only_for_the_turn_of_their_parent(conn):
    first = enqueue(conn, queue="a")
    batch = enqueue_batch(conn, queue="b", children=of(2), after=[first])
    nested = enqueue_batch(conn, queue="b", session="s", children=of(1, session="t"), parent=batch)
    for job in (batch, nested, *children_of(conn, batch), *children_of(conn, nested)):
        assert details(conn, job)
        assert circles(conn, job) == []


def test_children_of_a_batch_that_is_stopped_end_by_themselves(conn):
    batch = enqueue_batch(conn, children=of(3))
    with conn.transaction(force_rollback=True):
        conn.execute("UPDATE turnstile.batch SET stops = 'failed' WHERE id = %s", [batch])
        for job in (batch, *children_of(conn, batch)):
            assert circles(conn, job) == []


def test_what_holds_a_job_up_for_good_is_no_circle(conn):
    first = enqueue(conn, queue=ELSEWHERE)
    cancel(conn, first)
    held = enqueue(conn, after=[first], after_hold=True)
    last = enqueue(conn, after=[held])
    assert circles(conn, last) == []


def test_a_long_line_is_not_followed_to_its_end(conn):
    line = [enqueue(conn, queue=ELSEWHERE)]
    for _ in range(150):
        line.append(enqueue(conn, after=[line[-1]]))
    assert details(conn, line[-1])[0] == f"It comes after job {line[-2]}, which is blocked."


def test_only_jobs_that_the_caller_may_know_are_named(conn, role):
    one, other = crossed(conn, tenant="b")
    mine = enqueue(conn, tenant="a", after=[one])
    conn.execute("SELECT turnstile.allow_tenant(%s::text::regrole, '{a}')", [role])
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    assert details(conn, mine)[0].endswith("Jobs wait for each other: 4 more. None of them goes on before one is cancelled.")
    conn.execute("RESET ROLE")
    assert circles(conn, mine) == [with_children(conn, one, other)]
