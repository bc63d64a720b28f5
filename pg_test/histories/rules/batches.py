"""Batches: callbacks after their children, told of all of them; no child without its parent.

That nothing starts past the slots of a batch, in its pauses, before it has opened or once it is stopped, is a matter of gates:
a batch is one of them, and then has no room.
"""

from collections import Counter, defaultdict

import orjson

from histories.history import History
from histories.limits import begun, done
from histories.model import NEVER, Call, Change, Commit, Job, is_claim, session
from histories.rules.jobs import ENQUEUES

# Who calls one of these may end what waits.
ENDS = ("cancel", "cancel_many", "discard", "discard_many")


def callbacks_wait_for_children(history: History):
    """A job stops being blocked, to run or to end, only when no child of it is live: each of them has ended by then."""
    for change, children in with_children(history):
        if was_blocked(change) and not is_blocked(change.new) and children and not deleted(change):
            yield f"job {change.id} was released at commit {change.commit.index} while its children {sorted(children)[:5]} were live"


def callbacks_run_once(history: History):
    """The parent of a batch starts when it was told how its children have ended; once it has completed, only a retry brings it back."""
    started, completed = set(), set()
    for commit in history.commits:
        for change in commit.changes:
            if change.old is None and change.id in completed and not _retried(commit):
                yield f"job {change.id} has completed, and came back at commit {commit.index}: {change.new}"
            if not is_claim(change) or change.id in started:
                continue
            started.add(change.id)
            call = _batch_of(history, change.id)
            if call is not None and call.arguments["children"] and change.new.children is None:
                yield f"the parent {change.id} started before it was told how its children have ended: {change.new}"
        completed.update(job.id for job in commit.finished if job.state == "completed")


def callbacks_are_told_all_ends(history: History):
    """What a parent is told when it is released is how all children that it ever had ended last."""
    ends: dict[int, dict[int, str]] = defaultdict(dict)
    for commit in history.commits:
        for job in commit.finished:
            if job.parent is not None:
                ends[job.parent][job.id] = job.state
        finished = {job.id: job for job in commit.finished}
        for change in commit.changes:
            released = change.new or finished.get(change.id)
            if not was_blocked(change) or is_blocked(change.new) or released is None or released.children is None:
                continue
            counted, told = Counter(ends[change.id].values()), Counter(_told(released))
            if counted - told or told - counted:
                yield f"job {change.id} was told {released.children} at commit {commit.index}, of {dict(counted)}"


def callbacks_are_as_agreed(history: History):
    """A parent that waits no more runs, or ends without a run, as its batch says: by `on_end`, and by who has stopped it."""
    batches = Batches(history)
    for commit in history.commits:
        finished = {job.id: job for job in commit.finished}
        for change in commit.changes:
            if not was_blocked(change) or change.old.opens_batch == "true" or is_blocked(change.new):
                continue
            released = change.new or finished.get(change.id)
            if released is None or called(commit, *ENDS):
                continue
            # The children of one that is stopped are cancelled, also those that are batches.
            if released.state == "cancelled" and any(row and row["stops"] for row in batches.around(released.parent, commit)):
                continue
            rows = batches.around(change.id, commit)
            if not any(_is_agreed(row, released) for row in rows):
                yield f"job {change.id} is {released.state} after its children at commit {commit.index}: {released} {rows}"


def _is_agreed(row: dict | None, released: Job) -> bool:
    """Whether what waited may become that, with these settings."""
    if row is None:
        # A run that waited for its children, or a job that came after others.
        return released.state != "completed"
    told = _told(released)
    all_completed = not told.get("discarded") and not told.get("cancelled")
    stops, on_end = row["stops"], row["on_end"]
    if stops in ("cancelled", "discarded"):
        return released.state == stops
    if released.cancel_requested_at is not None:
        # A run that was asked to end has stepped aside.
        return released.state == "cancelled"
    if stops == "failed" and on_end != "run":
        return released.state == "discarded"
    if on_end == "complete":
        return released.state == "completed"
    return released.state == ("available" if on_end == "run" or all_completed else "discarded")


def batches_fail_for_a_reason(history: History):
    """A batch is stopped as failed when more of its children were discarded than `max_failed` allows, at one time or another."""
    discarded: dict[int, set[int]] = defaultdict(set)
    batches = Batches(history)
    for commit in history.commits:
        for job in commit.finished:
            if job.state == "discarded" and job.parent is not None:
                discarded[job.parent].add(job.id)
        for job_id, row in batches.changed.get(commit.index, []):
            if row is not None and row["stops"] == "failed" and len(discarded[job_id]) <= int(row["max_failed"] or -1):
                yield f"batch {job_id} has failed at commit {commit.index} after {len(discarded[job_id])} discarded children: {row}"


def ends_wait_for_children(history: History):
    """Who has not been running does not end while a child that it had then is live."""
    for change, children in with_children(history):
        ended = change.new is None and not deleted(change)
        if ended and change.old is not None and change.old.state != "running" and children and not _ran(history, change):
            yield f"job {change.id} ended at commit {change.commit.index} before its children {sorted(children)[:5]}"


def children_have_parents(history: History):
    """A child is added to a job that is live and takes children while the transaction that adds it lasts."""
    live: dict[int, Job] = {}
    # When each job last stopped to take children: a transaction that began earlier may have been let in.
    took: dict[int, float] = {}
    for change in history.changes:
        new = change.new
        if change is history.births[change.id] and new is not None and new.parent is not None:
            parent = live.get(new.parent)
            if parent is None or not _takes_children(parent) and took.get(parent.id, -NEVER) < begun(change.commit):
                yield f"child {change.id} was added at commit {change.commit.index} to job {new.parent}, which took none: {parent}"
        if new is None:
            live.pop(change.id, None)
            continue
        if change.old is not None and _takes_children(change.old) and not _takes_children(new):
            took[change.id] = done(change.commit)
        live[change.id] = new


def _takes_children(job: Job) -> bool:
    """Not where it was released to run as a callback, until it runs."""
    return job.children is None or job.state not in ("available", "retryable", "scheduled")


def children_belong_to_who_was_named(history: History):
    """The jobs of a call are children of the parents that it named, those of a batch children of that, and others of nobody."""
    made: dict[str, list[Job]] = defaultdict(list)
    for change in history.births.values():
        made[change.new.kind].append(change.new)
    for token, jobs in made.items():
        call = history.by_token.get(token)
        if call is None or call.verb not in ENQUEUES or len(jobs) != call.arguments["jobs"]:
            continue
        found = Counter(job.parent for job in jobs)
        if found != _named_parents(call, jobs):
            yield f"{token}: {call.verb} has made children of {dict(found)}: {call.arguments}"


def _named_parents(call: Call, jobs: list[Job]) -> Counter:
    if call.verb == "enqueue_batch":
        own = min(job.id for job in jobs)
        return Counter([call.arguments["parent"]]) + Counter({own: call.arguments["children"]})
    return Counter(call.arguments.get("parents", [None] * len(jobs)))


def parents_hold_their_sessions(history: History):
    """Who waits for children in a session holds it, from the commit in which its turn came to that in which it goes on. One that
    is moved to another waits there for its turn."""
    batches = Batches(history)
    waiting: set[int] = set()
    for change in history.changes:
        old, new = change.old, change.new
        is_moved = old is not None and new is not None and session(old) != session(new)
        if new is None or new.state != "blocked" or new.opens_batch == "true" or new.session is None or is_moved:
            waiting.discard(change.id)
            continue
        if old is not None and (old.state == "running" or old.opens_batch == "true" and old.state == "available"):
            # One that was stopped before its turn waits for its children, too, but never has its turn.
            if not any(row and row["stops"] for row in batches.around(change.id, change.commit)):
                waiting.add(change.id)
        if change.id in waiting and not new.holds_session:
            yield f"job {change.id} does not hold its session at commit {change.commit.index}: {new}"


class Batches:
    """The rows of turnstile.batch as the commits have left them."""

    def __init__(self, history: History):
        # Of each commit, and of each batch by the number of the commit.
        self.changed: dict[int, list[tuple[int, dict | None]]] = defaultdict(list)
        self._rows: dict[int, list[tuple[int, dict | None]]] = defaultdict(lambda: [(-1, None)])
        for commit in history.commits:
            for setting in commit.settings:
                if setting.table == "batch":
                    job_id = int(setting.key[0])
                    self.changed[commit.index].append((job_id, setting.row))
                    self._rows[job_id].append((commit.index, setting.row))

    def around(self, job_id: int, commit: Commit) -> list[dict | None]:
        """The row before the commit, and what the commit has made of it."""
        before = [row for index, row in self._rows[job_id] if index < commit.index]
        return [before[-1], *[row for index, row in self._rows[job_id] if index == commit.index]]


def with_children(history: History):
    """Each change, with the children that the job had at that moment in the order of commits."""
    children: dict[int, set[int]] = defaultdict(set)
    for change in history.changes:
        yield change, children.get(change.id, set())
        if change.old is not None and change.old.parent is not None:
            children[change.old.parent].discard(change.id)
        if change.new is not None and change.new.parent is not None:
            children[change.new.parent].add(change.id)


def is_blocked(job: Job | None) -> bool:
    """Whether a job waits for its children, or for the turn in which they start."""
    return job is not None and (job.state == "blocked" or job.opens_batch == "true")


def was_blocked(change: Change) -> bool:
    return change.old is not None and change.old.state == "blocked"


def deleted(change: Change) -> bool:
    """Whether the job went because somebody deleted it."""
    return change.new is None and all(job.id != change.id for job in change.commit.finished)


def called(commit: Commit, *verbs: str) -> bool:
    """Whether a commit may be of a transaction with one of these calls."""
    return commit.transaction is not None and any(call.verb in verbs for call in commit.transaction.kept)


def is_named(history: History, job_id: int, call: Call) -> bool:
    """Whether a job is the one that a call was about, and not a child of it."""
    return history.births[job_id].new.parent == call.arguments["parent"] and (call.answer is None or job_id in call.answer)


def _told(job: Job) -> dict[str, int]:
    return orjson.loads(job.children) if job.children else {}


def _ran(history: History, change: Change) -> bool:
    """A run may have added children and ended without them."""
    return any(is_claim(touch) for touch in history.touches[change.id])


def _retried(commit: Commit) -> bool:
    """Whether somebody may have brought jobs back in this commit."""
    return commit.transaction is None or called(commit, "retry", "retry_many")


def _batch_of(history: History, job_id: int) -> Call | None:
    """The call that has made this job as the parent of a batch."""
    call = history.by_token.get(history.births[job_id].new.kind)
    return call if call is not None and call.verb == "enqueue_batch" and is_named(history, job_id, call) else None
