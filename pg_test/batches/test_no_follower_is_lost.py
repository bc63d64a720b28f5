"""However the looks after jobs that wait meet what others do, none of these jobs waits for ever, and none keeps others waiting."""

import threading
import time

from support.batches import awaited, claim_awaited, enqueue_batch, nothing_comes
from support.calls import call, claim, claim_next, complete, discard, enqueue, enqueue_many, ids, retry

STATE = "SELECT state FROM turnstile.job WHERE id = %s"
LOCKED = 700
ROUNDS = 25


def test_a_follower_that_is_added_while_a_marked_one_ends_is_released(conn, other):
    """Who is marked is not locked while others are told of."""
    for n in range(ROUNDS):
        first = enqueue(conn, queue="first")
        enqueue(conn, queue="after", after=[first])
        awaited(conn, "SELECT has_followers FROM turnstile.job WHERE id = %s", True, first)
        run = claim_awaited(conn, "first")
        adding = threading.Thread(target=lambda first=first: [enqueue(other, queue="after", after=[first]) for _ in range(5)])
        adding.start()
        time.sleep(0.0005 * n)
        complete(conn, run)
        adding.join()
        awaited(conn, "SELECT count(*)::int FROM turnstile.job WHERE state = 'blocked'", 0)


def test_who_waits_for_many_that_are_locked_keeps_no_others_waiting(conn, other):
    many = ids(enqueue_many(conn, [{"kind": "before", "queue": "many"}] * LOCKED))
    other.execute("BEGIN")
    assert len(claim(other, ["many"], LOCKED)) == LOCKED
    first = enqueue(conn, queue="first")
    with conn.transaction():
        last = enqueue(conn, queue="after", after=many)
        early = enqueue(conn, queue="after", after=[first])
    nothing_comes(conn, "after")
    complete(conn, claim_awaited(conn, "first"))
    late = enqueue(conn, queue="after", after=[first])
    assert sorted([claim_awaited(conn, "after").id, claim_awaited(conn, "after").id]) == [early, late]
    other.execute("ROLLBACK")
    assert conn.execute(STATE, [last]).fetchone() == ("blocked",)


def test_a_child_of_which_one_of_two_was_told_before_its_batch_was_open(conn):
    told = enqueue_batch(conn, queue="told", children=[{"kind": "child", "queue": "child of told"}])
    plain = enqueue(conn, queue="plain")
    enqueue(conn, queue="in front", session="s")
    before = claim_next(conn, "in front")
    turn = {"queue": "in front", "session": "s"}
    enqueue_batch(conn, children=[{"kind": "last", "queue": "last", "after": [told, plain]}], **turn)
    complete(conn, claim_awaited(conn, "child of told"))
    awaited(conn, "SELECT is_told FROM turnstile.dependency WHERE predecessor = %s", True, told)
    complete(conn, before)
    nothing_comes(conn, "in front")
    complete(conn, claim_awaited(conn, "told"))
    complete(conn, claim_awaited(conn, "plain"))
    assert claim_awaited(conn, "last").kind == "last"


def test_a_child_that_is_added_while_one_that_it_comes_after_comes_back(conn, other):
    for _ in range(ROUNDS):
        back, plain = enqueue(conn, queue="back"), enqueue(conn, queue="plain")
        discard(conn, claim_awaited(conn, "back"))
        coming = threading.Thread(target=retry, args=[other, back])
        coming.start()
        enqueue_batch(conn, queue="batch", children=[{"kind": "child", "queue": "child", "after": [back, plain], "after_hold": True}])
        coming.join()
        complete(conn, claim_awaited(conn, "back"))
        complete(conn, claim_awaited(conn, "plain"))
        complete(conn, claim_awaited(conn, "child"))
        complete(conn, claim_awaited(conn, "batch"))


def test_who_comes_back_in_a_queue_without_history_knows_who_holds_for_it(conn, other):
    call(conn, "set_queue", name="brief", keep_completed="0")
    first = enqueue(conn, queue="brief")
    discard(conn, claim_awaited(conn, "brief"))
    enqueue(conn, queue="after", after=[first], after_hold=True)
    nothing_comes(conn, "after")
    retry(conn, first)
    # A claim in a transaction block looks after others only after a while.
    other.execute("BEGIN")
    complete(other, claim_next(other, "brief"))
    other.execute("COMMIT")
    claim_awaited(conn, "after")
