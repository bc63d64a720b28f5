"""Statistics: each committed change of a job is counted once, and nothing else is."""

from bisect import bisect_right
from collections import Counter

from histories.history import History
from histories.model import Change, Commit, is_claim

ENDS = ("completed", "cancelled", "discarded")
# Commits that end at the same time are counted in any order: the first that is may be somewhat later than others.
TOGETHER = 50


def events_are_counted(history: History):
    """What the statistics of the queues say at rest is what the commits since the last crash have done."""
    for call in history.called("statistics"):
        since, found = call.answer
        found = Counter({(queue, event): number for queue, event, number in found if number})
        last = bisect_right(history.commits, since, key=lambda commit: commit.at)
        first = max(last - TOGETHER, 0)
        counted = sum((events(commit) for commit in history.commits[first:]), Counter())
        candidates = []
        for commit in [*history.commits[first:last], None]:
            candidates.append(counted)
            if counted == found:
                break
            counted = counted - events(commit) if commit else counted
        else:
            best = min(candidates, key=lambda it: len(it.items() ^ found.items()))
            yield f"{call.token}: {sorted(found.items() - best.items())} instead of {sorted(best.items() - found.items())}"


def events(commit: Commit) -> Counter:
    """By queue."""
    ends = {job.id: job.state for job in commit.finished}
    return Counter(event for change in commit.changes for event in of_change(change, ends))


def of_change(change: Change, ends: dict[int, str]):
    if change.old is None:
        yield change.new.queue, "enqueued"
    if is_claim(change):
        yield change.new.queue, "started"
    if change.new is None and change.id in ends:
        yield change.old.queue, ends[change.id]
