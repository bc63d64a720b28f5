"""Parents, predecessors and retries in combinations that must not block, nor end the wrong job."""

import json

import psycopg
import pytest

TURNS = 200


def claim(conn, queue="*", most=10):
    return conn.execute("SELECT id, attempt, kind FROM turnstile.claim(ARRAY[%s], %s)", [queue, most]).fetchall()


def state(conn, job):
    return conn.execute("SELECT state FROM turnstile.jobs WHERE id = %s ORDER BY finished_at DESC NULLS FIRST LIMIT 1", [job]).fetchone()[0]


def reaches(conn, job, wanted):
    """Claims from a queue without jobs look after those that wait."""
    for _ in range(TURNS):
        claim(conn, "nothing")
        if state(conn, job) == wanted:
            return True
        conn.execute("SELECT pg_sleep(0.02)")
    return False


def scalar(conn, query, arguments=()):
    return conn.execute(query, arguments).fetchone()[0]


def enqueue(conn, kind="x", **arguments):
    names = "".join(f", {name} => %s" for name in arguments)
    return scalar(conn, f"SELECT turnstile.enqueue(%s{names})", [kind, *arguments.values()])


def enqueue_batch(conn, children=(), **arguments):
    names = "".join(f", {name} => %s" for name in arguments)
    given = ["parent", json.dumps(list(children)), *arguments.values()]
    return scalar(conn, f"SELECT turnstile.enqueue_batch(%s, children => %s{names})", given)


def end(conn, job, verb="complete"):
    more = ", NULL" if verb == "discard" else ""
    found = [row for row in claim(conn) if row[0] == job]
    assert found
    conn.execute(f"SELECT turnstile.{verb}(%s, %s{more})", found[0][:2])


def test_a_cycle_by_local_names_through_a_parent_is_refused(conn):
    parent = enqueue_batch(conn, [{"kind": "first"}])
    jobs = [
        {"kind": "child", "parent": parent, "after_refs": ["late"]},
        {"kind": "late", "ref": "late", "after": [parent]},
    ]
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        conn.execute("SELECT * FROM turnstile.enqueue_many(%s)", [json.dumps(jobs)])


def test_a_cycle_through_children_is_refused(conn):
    one, two = (enqueue_batch(conn, [{"kind": "first"}]) for _ in range(2))
    enqueue(conn, parent=two, after=[one])
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        enqueue(conn, parent=one, after=[two])


def test_a_predecessor_must_not_become_a_follower_of_its_child_by_update(conn):
    one = enqueue_batch(conn, [{"kind": "first"}])
    late = enqueue(conn, after=[one])
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        conn.execute("UPDATE turnstile.job SET parent = %s WHERE id = %s", [one, late])


def test_a_held_follower_goes_on_when_a_job_that_had_ended_before_completes(conn):
    first = enqueue(conn)
    end(conn, first, "discard")
    held = enqueue(conn, "held", after=[first], after_hold=True)
    assert claim(conn) == []
    conn.execute("SELECT turnstile.retry(%s)", [first])
    end(conn, first)
    assert reaches(conn, held, "available")


def test_a_retried_follower_is_not_ended_by_what_it_came_after(conn):
    one, two = enqueue(conn, "one"), enqueue(conn, "two")
    late = enqueue(conn, "late", after=[one, two])
    claim(conn, "nothing")
    conn.execute("SELECT turnstile.cancel(%s)", [late])
    conn.execute("SELECT turnstile.retry(%s)", [late])
    conn.execute("SELECT turnstile.discard(%s)", [one])
    for _ in range(5):
        claim(conn, "nothing")
    assert state(conn, late) == "available"


def test_a_cancelled_batch_that_came_after_another_comes_back_with_its_children(conn):
    first = enqueue(conn, "one")
    late = enqueue_batch(conn, [{"kind": "child"}], after=[first])
    claim(conn, "nothing")
    conn.execute("SELECT turnstile.cancel(%s)", [late])
    assert reaches(conn, late, "cancelled")
    conn.execute("SELECT turnstile.retry(%s)", [late])
    kinds = {kind for _, _, kind in claim(conn)}
    assert "child" in kinds


def test_a_cancelled_parent_that_comes_back_without_children_may_get_new_ones(conn):
    parent = enqueue_batch(conn, [{"kind": "child"}])
    [(child, attempt, _)] = claim(conn)
    conn.execute("SELECT turnstile.cancel(%s)", [parent])
    conn.execute("SELECT turnstile.complete(%s, %s)", [child, attempt])
    assert reaches(conn, parent, "cancelled")
    conn.execute("SELECT turnstile.retry(%s)", [parent])
    [(_, attempt, _)] = claim(conn)
    enqueue(conn, "more", parent=parent)
    assert scalar(conn, "SELECT turnstile.await_children(%s, %s)", [parent, attempt])
    assert [kind for _, _, kind in claim(conn)] == ["more"]


def test_retry_many_passes_over_children_of_a_batch_that_is_stopped(conn):
    parent = enqueue_batch(conn, [{"kind": "x"}, {"kind": "y"}, {"kind": "z"}], max_failed=0)
    runs = claim(conn)
    conn.execute("SELECT turnstile.discard(%s, %s, NULL)", runs[0][:2])
    claim(conn, "nothing")
    other = enqueue(conn, "other")
    end(conn, other, "discard")
    assert scalar(conn, "SELECT stops FROM turnstile.batch WHERE id = %s", [parent]) == "failed"
    assert scalar(conn, "SELECT turnstile.retry_many(state => 'discarded')") == 1


def test_a_replaced_job_that_comes_after_another_is_replaced(conn):
    first = enqueue(conn)
    one = enqueue(conn, unique_key="k", unique_mode="replace", after=[first])
    two = enqueue(conn, unique_key="k", unique_mode="replace", after=[first])
    assert one == two


def test_a_parent_of_an_unbatched_run_gets_limits(conn):
    parent = enqueue(conn, "run")
    [(_, attempt, _)] = claim(conn)
    for _ in range(3):
        enqueue(conn, "child", parent=parent)
    assert scalar(conn, "SELECT turnstile.await_children(%s, %s)", [parent, attempt])
    conn.execute("SELECT turnstile.set_batch(%s, slots => 1)", [parent])
    assert len(claim(conn)) == 1


def test_children_that_come_back_do_not_hold_up_the_session_for_which_their_parent_waits(conn):
    failing = enqueue_batch(conn, [{"kind": "child", "session": "x"}], session="a")
    claim(conn)
    [(child, attempt, _)] = claim(conn)
    conn.execute("SELECT turnstile.discard(%s, %s, NULL)", [child, attempt])
    claim(conn, "nothing")
    end(conn, failing, "discard")
    # A batch has the session now; the other waits behind it.
    holder = enqueue_batch(conn, [], session="a")
    claim(conn)
    conn.execute("SELECT turnstile.retry(%s)", [failing])
    assert state(conn, failing) in ("available", "completed")
    del holder

