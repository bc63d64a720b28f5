"""Jobs that come after others: not before these, not without them, and discarded only for what became of these."""

from dataclasses import dataclass

from histories.history import History
from histories.model import Change, is_claim
from histories.rules.batches import ENDS, called, is_named, was_blocked


@dataclass(slots=True)
class Order:
    """What a job comes after, and whether any end of these will do, and whether it waits on where one has ended otherwise."""

    after: list[int]
    any_end: bool
    holds: bool


def order_of(history: History, job_id: int) -> Order | None:
    """As the call said that has made the job."""
    call = history.by_token.get(history.births[job_id].new.kind)
    if call is None:
        return None
    if call.arguments.get("after") and is_named(history, job_id, call):
        return Order(call.arguments["after"], call.arguments["any_end"], call.arguments["hold"])
    # By local names: the places of the elements that an element comes after.
    places = call.arguments.get("places")
    if not places or not call.answer or job_id not in call.answer:
        return None
    after = [call.answer[place] for place in places[call.answer.index(job_id)]]
    return Order(after, False, False) if after else None


def followers_wait(history: History):
    """A job that comes after others starts when all of them have completed, or have ended at all where that is enough.
    Who brings it back after its end does without them."""
    seen: set[int] = set()
    for change, ends in with_ends(history):
        if change.old is None and change is not history.births[change.id]:
            seen.add(change.id)
        if not is_claim(change) or change.id in seen:
            continue
        seen.add(change.id)
        order = order_of(history, change.id)
        missing = [job_id for job_id in order.after if not ends.has_met(job_id, order)] if order else []
        if missing:
            yield f"job {change.id} started at commit {change.commit.index}, before {missing} that it comes after: {change.new}"


def followers_end_for_a_reason(history: History):
    """A job that still comes after others is discarded by nobody unless one of them has ended otherwise, or was deleted."""
    for change, ends in with_ends(history):
        if not _is_discarded(change) or not _comes_after_others(history, change) or called(change.commit, *ENDS):
            continue
        order = order_of(history, change.id)
        if order and (order.any_end or order.holds or not any(job_id in ends.otherwise for job_id in order.after)):
            yield f"job {change.id} was discarded at commit {change.commit.index}, with nothing wrong in {order}"


def _is_discarded(change: Change) -> bool:
    ended = {job.id: job.state for job in change.commit.finished} if was_blocked(change) and change.new is None else {}
    return ended.get(change.id) == "discarded"


def _comes_after_others(history: History, change: Change) -> bool:
    """And does not wait for children: as a batch that has been opened, or as a run that has stepped aside."""
    call = history.by_token[history.births[change.id].new.kind]
    is_open = call.verb == "enqueue_batch" and change.old.opens_batch != "true"
    return not is_open and not any(is_claim(touch) for touch in history.touches[change.id])


class Ends:
    """Which jobs have ever completed, ended, or ended otherwise."""

    def __init__(self):
        self.ended: set[int] = set()
        self.completed: set[int] = set()
        self.otherwise: set[int] = set()

    def has_met(self, job_id: int, order: Order) -> bool:
        return job_id in (self.ended if order.any_end else self.completed)

    def note(self, change: Change, states: dict[int, str]) -> None:
        if change.new is None:
            self.ended.add(change.id)
            (self.completed if states.get(change.id) == "completed" else self.otherwise).add(change.id)


def with_ends(history: History):
    """Each change, with the ends so far: a transaction may complete a job, and claim what comes after it."""
    ends = Ends()
    for commit in history.commits:
        states = {job.id: job.state for job in commit.finished}
        for change in commit.changes:
            ends.note(change, states)
            yield change, ends
