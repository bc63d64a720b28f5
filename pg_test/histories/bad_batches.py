"""Bad histories made by hand: of batches whose parts come too early, too late, or not at all."""

from histories.bad_runs import bad


def batch(story, *children: int, turn=None, **settings) -> None:
    """The parent 1 of these jobs, open; or with columns that say when its turn comes."""
    call = story.called("enqueue_batch", [1], jobs=1 + len(children), children=len(children), **NO_TIES)
    rows = [{"id": 1, "kind": call.token, **(turn or {"state": "blocked"})}]
    rows += [{"id": child, "kind": call.token, "parent": 1} for child in children]
    story.committed(story.ended(call), *rows, settings=[("batch", ("1",), _OPEN | settings)])


_OPEN = {
    "slots": None, "opened_at": "2026-01-01 00:00:00+00", "stops": None, "paused": "false", "on_end": "run", "max_failed": None,
}  # fmt: skip
NO_TIES = {"parent": None, "after": None, "any_end": False, "hold": False}
_TOLD = '{"completed": 1}'


def looked_after(story, *rows: dict, finished=(), settings=(), queues=("other",)) -> None:
    """What a claim does to parents in passing."""
    transaction = story.ended(story.called("claim", [], queues=list(queues), most=1))
    story.committed(transaction, *rows, finished=finished, settings=settings)


def an_ordinary_batch(story) -> None:
    """Children that run and end, the callback after them, and who comes after that."""
    batch(story, 2, 3, slots="1")
    follows(story, 4)
    story.claims(2)
    story.completes(2)
    story.claims(3)
    story.fails_for_good(3)
    looked_after(story, {"id": 1, "state": "available", "children": '{"completed": 1, "discarded": 1}'})
    story.claims(1)
    story.completes(1)
    looked_after(story, {"id": 4, "state": "available"})
    story.claims(4)
    story.completes(4)


def a_run_that_waits_for_its_children(story) -> None:
    story.enqueues(1)
    story.claims(1)
    adds(story, 2)
    transaction = story.ended(story.called("await_children", True, runs=[[1, 1]]))
    story.committed(transaction, {"id": 1, "state": "blocked", "worker": None})
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})
    story.claims(1)
    story.completes(1)


def a_run_that_leaves_its_children_to_themselves(story) -> None:
    story.enqueues(1)
    story.claims(1)
    adds(story, 2)
    story.completes(1)
    story.claims(2)
    story.completes(2)


def a_child_of_a_callback_that_is_put_off_meanwhile(story) -> None:
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})
    story.claims(1)
    call = story.called("enqueue_many", [3], jobs=1, parents=[1])
    transaction = story.ended(story.called("snooze", True, runs=[[1, 1]]))
    story.committed(transaction, {"id": 1, "state": "scheduled", "worker": None})
    story.committed(story.ended(call), {"id": 3, "kind": call.token, "parent": 1})


def a_follower_that_was_brought_back(story) -> None:
    story.enqueues(1)
    follows(story)
    story.claims(1)
    story.fails_for_good(1)
    looked_after(story, {"id": 2, "gone": True}, finished=[(2, "discarded")])
    transaction = story.ended(story.called("retry", [2, "available"]))
    story.committed(transaction, {"id": 2, "state": "available"})
    story.claims(2)
    story.completes(2)


ORDINARY = [
    a_child_of_a_callback_that_is_put_off_meanwhile, a_follower_that_was_brought_back, an_ordinary_batch, a_run_that_waits_for_its_children,
    a_run_that_leaves_its_children_to_themselves,
]  # fmt: skip


@bad("callbacks_wait_for_children")
def a_callback_waits_while_a_child_runs(story):
    batch(story, 2, 3)
    story.claims(2, 3)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})


@bad("callbacks_wait_for_children")
def a_parent_is_completed_before_its_child(story):
    batch(story, 2)
    looked_after(story, {"id": 1, "gone": True}, finished=[(1, "completed")])


@bad("callbacks_wait_for_children")
def a_child_that_was_added_is_forgotten(story):
    batch(story, 2)
    adds(story, 3)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})


@bad("callbacks_run_once")
def a_callback_runs_before_it_is_told(story):
    batch(story, 2)
    looked_after(story, {"id": 1, "state": "available"})
    story.claims(1)


@bad("callbacks_run_once")
def a_callback_that_has_run_runs_again(story):
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})
    story.claims(1)
    story.completes(1)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD, "attempt": 1})
    story.claims(1)


@bad("ends_wait_for_children")
def a_parent_that_waits_is_cancelled_before_its_child(story):
    batch(story, 2)
    looked_after(story, {"id": 1, "state": "available"})
    transaction = story.ended(story.called("cancel", [1]))
    story.committed(transaction, {"id": 1, "gone": True}, finished=[(1, "cancelled")])


@bad("children_have_parents")
def a_child_is_added_to_a_parent_that_has_ended(story):
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "gone": True}, finished=[(1, "completed")])
    adds(story, 3)


@bad("children_have_parents")
def a_child_is_added_to_a_parent_that_was_released(story):
    batch(story, 2)
    story.claims(2)
    story.completes(2)
    looked_after(story, {"id": 1, "state": "available", "children": _TOLD})
    adds(story, 3)


@bad("children_have_parents")
def a_child_is_added_after_a_callback_was_put_off(story):
    a_child_of_a_callback_that_is_put_off_meanwhile(story)
    adds(story, 4)


@bad("limits_hold_at_every_commit")
def a_batch_passes_its_slots(story):
    batch(story, 2, 3, slots="1")
    story.claims(2)
    story.claims(3)


@bad("limits_hold_at_every_commit")
def a_child_starts_before_the_turn_of_its_parent(story):
    batch(story, 2, opened_at=None)
    story.waits(1)
    story.claims(2)


@bad("limits_hold_at_every_commit")
def a_child_starts_though_its_batch_was_cancelled(story):
    batch(story, 2, 3)
    story.claims(2)
    story.limits("batch", "1", **_OPEN | {"stops": "cancelled"})
    story.claims(3)


@bad("limits_hold_at_every_commit")
def a_child_starts_though_too_many_have_failed(story):
    batch(story, 2, 3)
    story.claims(2)
    story.fails_for_good(2)
    story.limits("batch", "1", **_OPEN | {"stops": "failed"})
    story.claims(3)


@bad("followers_wait")
def a_follower_overtakes_who_is_in_front(story):
    story.enqueues(1)
    follows(story, any_end=True)
    story.claims(1)
    looked_after(story, {"id": 2, "state": "available"})
    story.claims(2)


@bad("followers_wait")
def a_follower_starts_after_a_failure(story):
    story.enqueues(1)
    follows(story)
    story.claims(1)
    story.fails_for_good(1)
    looked_after(story, {"id": 2, "state": "available"})
    story.claims(2)


def follows(story, job_id: int = 2, **ties) -> None:
    """This job after job 1."""
    call = story.called("enqueue", [job_id], jobs=1, **NO_TIES | {"after": [1]} | ties)
    story.committed(story.ended(call), {"id": job_id, "kind": call.token, "state": "blocked"})


def adds(story, job_id: int, **columns) -> None:
    """This job as a child of job 1."""
    call = story.called("enqueue_many", [job_id], jobs=1, parents=[1])
    story.committed(story.ended(call), {"id": job_id, "kind": call.token, "parent": 1, **columns})
