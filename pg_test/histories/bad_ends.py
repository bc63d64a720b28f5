"""Bad histories made by hand: of batches that end otherwise than agreed, and of who is blocked for nothing."""

from histories.bad_batches import NO_TIES, adds, batch, follows, looked_after
from histories.bad_runs import bad


def _told(completed: int = 0, discarded: int = 0, cancelled: int = 0) -> str:
    return f'{{"completed": {completed}, "discarded": {discarded}, "cancelled": {cancelled}}}'


def _ends_as(story, state: str, told: str | None = None) -> None:
    """Job 1, which was blocked, ends without a run."""
    looked_after(story, {"id": 1, "children": told})
    looked_after(story, {"id": 1, "gone": True}, finished=[(1, state)])


def _one_of_each(story) -> None:
    """Job 2 completes, job 3 is discarded."""
    story.claims(2, 3)
    story.completes(2)
    story.fails_for_good(3)


def a_batch_that_ends_without_a_callback(story) -> None:
    batch(story, 2, 3, on_end="complete")
    _one_of_each(story)
    _ends_as(story, "completed", _told(1, 1))


def a_batch_that_is_discarded_for_a_child(story) -> None:
    batch(story, 2, 3, on_end="run_if_all_completed")
    _one_of_each(story)
    _ends_as(story, "discarded", _told(1, 1))


def a_batch_that_fails(story) -> None:
    batch(story, 2, 3, 4, max_failed="0")
    story.claims(2, 3)
    story.fails_for_good(2)
    looked_after(story, {"id": 4, "gone": True}, finished=[(4, "cancelled")], settings=[stopped("failed", max_failed="0")])
    story.completes(3)
    looked_after(story, {"id": 1, "state": "available", "children": _told(1, 1, 1)})
    story.claims(1)
    story.completes(1)


def a_batch_that_is_cancelled(story) -> None:
    batch(story, 2)
    story.committed(story.ended(story.called("cancel", [1, "blocked"])), settings=[stopped("cancelled")])
    looked_after(story, {"id": 2, "gone": True}, finished=[(2, "cancelled")])
    _ends_as(story, "cancelled", _told(cancelled=1))


def a_batch_of_a_batch_that_is_cancelled_with_it(story) -> None:
    batch(story, 2)
    inner = story.called("enqueue_batch", [3], jobs=1, children=0, **NO_TIES | {"parent": 1})
    story.committed(story.ended(inner), {"id": 3, "kind": inner.token, "state": "blocked", "parent": 1})
    story.committed(story.ended(story.called("discard", [1, "blocked"])), settings=[stopped("discarded")])
    for child in (2, 3):
        looked_after(story, {"id": child, "gone": True}, finished=[(child, "cancelled")])
    _ends_as(story, "discarded", _told(cancelled=2))


def a_follower_that_is_discarded(story) -> None:
    _is_discarded_with_its_predecessor(story)


def a_follower_that_holds(story) -> None:
    story.enqueues(1)
    follows(story, hold=True)
    story.claims(1)
    story.fails_for_good(1)
    _many_claims(story)


def jobs_that_come_after_each_other_by_local_names(story) -> None:
    _graph(story)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available"})
    story.claims(1)
    story.completes(1)


def a_batch_that_waits_while_its_child_runs(story) -> None:
    batch(story, 2)
    story.claims(2)
    _many_claims(story)


def a_parent_that_is_moved_waits_for_its_turn_in_another_session(story) -> None:
    _has_its_turn(story, holds_session=True)
    transaction = story.ended(story.called("reroute", 1))
    story.committed(transaction, {"id": 1, "queue": "other", "holds_session": False})


ORDINARY = [
    a_batch_that_ends_without_a_callback, a_batch_that_is_discarded_for_a_child, a_batch_that_fails, a_batch_that_is_cancelled,
    a_batch_of_a_batch_that_is_cancelled_with_it, a_follower_that_is_discarded, a_follower_that_holds,
    jobs_that_come_after_each_other_by_local_names, a_batch_that_waits_while_its_child_runs,
    a_parent_that_is_moved_waits_for_its_turn_in_another_session,
]  # fmt: skip


def stopped(stops: str, **settings) -> tuple:
    return "batch", ("1",), {"opened_at": "2026-01-01 00:00:00+00", "on_end": "run", "max_failed": None, "stops": stops} | settings


def _graph(story) -> None:
    """Job 1 after job 2, which come from one call."""
    call = story.called("enqueue_many", [1, 2], jobs=2, places=[[1], []])
    rows = [{"id": 1, "kind": call.token, "state": "blocked"}, {"id": 2, "kind": call.token}]
    story.committed(story.ended(call), *rows)


def _is_discarded_with_its_predecessor(story, **ties) -> None:
    """Job 2, which comes after job 1."""
    story.enqueues(1)
    follows(story, **ties)
    story.claims(1)
    story.fails_for_good(1)
    looked_after(story, {"id": 2, "gone": True}, finished=[(2, "discarded")])


def _many_claims(story) -> None:
    for _ in range(60):
        story.claims(most=1, queues=["other"])


def _has_its_turn(story, holds_session: bool) -> None:
    batch(story, 2, opened_at=None, turn={"state": "available", "opens_batch": "true", "session": "chat"})
    looked_after(story, {"id": 1, "state": "blocked", "opens_batch": None, "holds_session": holds_session})


@bad("callbacks_are_told_all_ends")
def a_callback_is_told_of_one_child_too_few(story):
    batch(story, 2, 3)
    _one_of_each(story)
    looked_after(story, {"id": 1, "state": "available", "children": _told(1)})


@bad("callbacks_are_told_all_ends")
def a_callback_is_told_of_a_wrong_end(story):
    batch(story, 2, 3)
    _one_of_each(story)
    looked_after(story, {"id": 1, "state": "available", "children": _told(2)})


@bad("callbacks_are_told_all_ends")
def a_child_that_was_brought_back_counts_twice(story):
    batch(story, 2, 3)
    _one_of_each(story)
    story.committed(story.ended(story.called("retry", [3, "available"])), {"id": 3, "parent": 1, "attempt": 1})
    story.claims(3)
    story.completes(3)
    looked_after(story, {"id": 1, "state": "available", "children": _told(2, 1)})


@bad("callbacks_are_as_agreed")
def a_batch_is_completed_without_its_callback(story):
    batch(story, 2, 3)
    _one_of_each(story)
    _ends_as(story, "completed", _told(1, 1))


@bad("callbacks_are_as_agreed")
def a_callback_runs_though_a_child_has_failed(story):
    batch(story, 2, 3, on_end="run_if_all_completed")
    _one_of_each(story)
    looked_after(story, {"id": 1, "state": "available", "children": _told(1, 1)})


@bad("callbacks_are_as_agreed")
def a_callback_runs_that_nobody_wants(story):
    batch(story, 2, 3, on_end="complete")
    _one_of_each(story)
    looked_after(story, {"id": 1, "state": "available", "children": _told(1, 1)})


@bad("callbacks_are_as_agreed")
def a_cancelled_batch_runs_its_callback(story):
    batch(story, 2)
    story.limits("batch", "1", **stopped("cancelled")[2])
    looked_after(story, {"id": 2, "gone": True}, finished=[(2, "cancelled")])
    looked_after(story, {"id": 1, "state": "available", "children": _told(cancelled=1)})


@bad("callbacks_are_as_agreed")
def a_batch_that_nobody_has_cancelled_is_cancelled(story):
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    _ends_as(story, "cancelled", _told(1))


@bad("batches_fail_for_a_reason")
def a_batch_fails_with_as_many_failures_as_it_puts_up_with(story):
    batch(story, 2, 3, max_failed="1")
    story.claims(2)
    story.fails_for_good(2)
    looked_after(story, {"id": 3, "gone": True}, finished=[(3, "cancelled")], settings=[stopped("failed", max_failed="1")])


@bad("children_belong_to_who_was_named")
def a_child_becomes_nobodys(story):
    story.enqueues(1)
    story.claims(1)
    adds(story, 2, parent=None)


@bad("children_belong_to_who_was_named")
def a_child_becomes_anothers(story):
    batch(story, 2)
    adds(story, 3, parent=2)


@bad("children_belong_to_who_was_named")
def a_child_of_a_batch_is_none(story):
    call = story.called("enqueue_batch", [1], jobs=2, children=1, **NO_TIES)
    story.committed(story.ended(call), {"id": 1, "kind": call.token, "state": "blocked"}, {"id": 2, "kind": call.token})


@bad("children_belong_to_who_was_named")
def a_job_becomes_a_child(story):
    story.enqueues(1)
    story.enqueues(2, parent=1)


@bad("parents_hold_their_sessions")
def a_batch_whose_turn_has_come_lets_its_session_go_on(story):
    _has_its_turn(story, holds_session=False)


@bad("parents_hold_their_sessions")
def a_run_that_waits_for_its_children_lets_its_session_go_on(story):
    story.enqueues(1, session="chat")
    story.claims(1)
    adds(story, 2)
    transaction = story.ended(story.called("await_children", True, runs=[[1, 1]]))
    story.committed(transaction, {"id": 1, "state": "blocked", "worker": None})


@bad("parents_hold_their_sessions")
def a_parent_loses_its_session_while_it_waits(story):
    _has_its_turn(story, holds_session=True)
    looked_after(story, {"id": 1, "holds_session": False})


@bad("followers_wait")
def a_follower_by_local_name_overtakes(story):
    _graph(story)
    story.claims(2)
    looked_after(story, {"id": 1, "state": "available"})
    story.claims(1)


@bad("followers_wait")
def a_follower_that_holds_starts_after_a_failure(story):
    story.enqueues(1)
    follows(story, hold=True)
    story.claims(1)
    story.fails_for_good(1)
    looked_after(story, {"id": 2, "state": "available"})
    story.claims(2)


@bad("followers_end_for_a_reason")
def a_follower_is_discarded_though_all_is_well(story):
    story.enqueues(1)
    follows(story)
    story.claims(1)
    story.completes(1)
    looked_after(story, {"id": 2, "gone": True}, finished=[(2, "discarded")])


@bad("followers_end_for_a_reason")
def a_follower_that_takes_any_end_is_discarded(story):
    _is_discarded_with_its_predecessor(story, any_end=True)


@bad("followers_end_for_a_reason")
def a_follower_that_holds_is_discarded(story):
    _is_discarded_with_its_predecessor(story, hold=True)


@bad("who_waits_for_nothing_goes_on")
def a_parent_is_forgotten(story):
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    _many_claims(story)


@bad("who_waits_for_nothing_goes_on")
def a_batch_without_children_is_forgotten(story):
    batch(story)
    _many_claims(story)


@bad("who_waits_for_nothing_goes_on")
def a_follower_is_forgotten(story):
    story.enqueues(1)
    follows(story)
    story.claims(1)
    story.completes(1)
    _many_claims(story)


@bad("who_waits_for_nothing_goes_on")
def a_follower_of_a_failed_job_is_forgotten(story):
    story.enqueues(1)
    follows(story)
    story.claims(1)
    story.fails_for_good(1)
    _many_claims(story)


@bad("who_waits_for_nothing_goes_on")
def a_child_that_waited_for_its_batch_to_be_opened_is_forgotten(story):
    batch(story, 2, opened_at=None, turn={"state": "available", "opens_batch": "true"})
    looked_after(story, {"id": 2, "state": "blocked", "session": "device"})
    row = stopped("nothing")[2] | {"stops": None}
    looked_after(story, {"id": 1, "state": "blocked", "opens_batch": None}, settings=[("batch", ("1",), row)])
    _many_claims(story)
