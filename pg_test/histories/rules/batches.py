"""Batches: callbacks after their children, no child without a parent, followers after those in front of them.

That nothing starts past the slots of a batch, in its pauses, before it has opened or once it is stopped, is a matter of gates:
a batch is one of them, and then has no room.
"""

from collections import defaultdict

from histories.history import History
from histories.model import Call, Change, Commit, Job, is_claim


def callbacks_wait_for_children(history: History):
    """A job stops being blocked, to run or to end, only when no child of it is live: each of them has ended by then."""
    for change, children in with_children(history):
        if _was_blocked(change) and not _is_blocked(change.new) and children and not _deleted(change):
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


def ends_wait_for_children(history: History):
    """Who has not been running does not end while a child that it had then is live."""
    for change, children in with_children(history):
        ended = change.new is None and not _deleted(change)
        if ended and change.old is not None and change.old.state != "running" and children and not _ran(history, change):
            yield f"job {change.id} ended at commit {change.commit.index} before its children {sorted(children)[:5]}"


def children_have_parents(history: History):
    """A child is added to a job that is live, and was not released to run as a callback before."""
    live: dict[int, Job] = {}
    for change in history.changes:
        new = change.new
        if change is history.births[change.id] and new is not None and new.parent is not None:
            parent = live.get(new.parent)
            if parent is None or parent.children is not None and parent.state in ("available", "retryable", "scheduled"):
                yield f"child {change.id} was added at commit {change.commit.index} to job {new.parent}, which took none: {parent}"
        if new is None:
            live.pop(change.id, None)
        else:
            live[change.id] = new


def followers_wait(history: History):
    """A job that comes after others starts when all of them have completed, or have ended at all where that is enough.
    Who brings it back after its end does without them."""
    ended, completed, seen = set(), set(), set()
    for commit in history.commits:
        states = {job.id: job.state for job in commit.finished}
        for change in commit.changes:
            # A transaction may complete a job, and claim what comes after it.
            if change.new is None:
                ended.add(change.id)
                if states.get(change.id) == "completed":
                    completed.add(change.id)
            if change.old is None and change is not history.births[change.id]:
                seen.add(change.id)
            if not is_claim(change) or change.id in seen:
                continue
            seen.add(change.id)
            call = history.by_token.get(history.births[change.id].new.kind)
            if call is None or not call.arguments.get("after") or not _is_named(history, change.id, call):
                continue
            enough = ended if call.arguments["any_end"] else completed
            missing = [job_id for job_id in call.arguments["after"] if job_id not in enough]
            if missing:
                yield f"job {change.id} started at commit {commit.index}, before {missing} that it comes after: {change.new}"


def with_children(history: History):
    """Each change, with the children that the job had at that moment in the order of commits."""
    children: dict[int, set[int]] = defaultdict(set)
    for change in history.changes:
        yield change, children.get(change.id, set())
        if change.old is not None and change.old.parent is not None:
            children[change.old.parent].discard(change.id)
        if change.new is not None and change.new.parent is not None:
            children[change.new.parent].add(change.id)


def _is_blocked(job: Job | None) -> bool:
    """Whether a job waits for its children, or for the turn in which they start."""
    return job is not None and (job.state == "blocked" or job.opens_batch == "true")


def _was_blocked(change: Change) -> bool:
    return change.old is not None and change.old.state == "blocked"


def _deleted(change: Change) -> bool:
    """Whether the job went because somebody deleted it."""
    return change.new is None and all(job.id != change.id for job in change.commit.finished)


def _ran(history: History, change: Change) -> bool:
    """A run may have added children and ended without them."""
    return any(is_claim(touch) for touch in history.touches[change.id])


def _retried(commit: Commit) -> bool:
    """Whether somebody may have brought jobs back in this commit."""
    return commit.transaction is None or any(call.verb in ("retry", "retry_many") for call in commit.transaction.kept)


def _batch_of(history: History, job_id: int) -> Call | None:
    """The call that has made this job as the parent of a batch."""
    call = history.by_token.get(history.births[job_id].new.kind)
    return call if call is not None and call.verb == "enqueue_batch" and _is_named(history, job_id, call) else None


def _is_named(history: History, job_id: int, call: Call) -> bool:
    """Whether a job is the one that a call was about, and not a child of it."""
    return history.births[job_id].new.parent == call.arguments["parent"] and (call.answer is None or job_id in call.answer)
