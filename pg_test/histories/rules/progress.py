"""Progress: who may run is claimed soon, and in the end everything ends."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise

from histories.history import History
from histories.limits import begun, done
from histories.locks import merged
from histories.model import NEVER, Call, Job, gates, rank, session
from histories.rules.runs import CLAIMS

# A job that may run is forgotten when claims of its queue find nothing for so many seconds. From one claim to the next no more
# than a moment counts: the server may have been down, or nobody had time to ask.
SECONDS = 5.0
MOMENT = 0.25


def everything_ends(history: History):
    """With no limit and no pause left, all jobs have run."""
    for call in history.called("stuck"):
        yield f"{call.answer} jobs were left that nobody could claim"


def _sent(call: Call) -> float:
    return call.sent


def who_may_run_is_claimed(history: History):
    """A job with room at all its gates, the first of its session, does not stay while claims find nothing."""
    nothing = defaultdict(list)
    for call in sorted(history.called(*CLAIMS), key=_sent):
        if call.outcome == "ok" and not call.answer:
            for queue in history.queues_of(call):
                nothing[queue].append(call)
    full, first = full_times(history), first_times(history)
    for job, since, until in long_waits(history):
        for begin, end in open_times(job, since, until, full, first):
            known = nothing[job.queue]
            sent_meanwhile = known[bisect_right(known, begin, key=_sent) : bisect_left(known, end, key=_sent)]
            calls = [call for call in sent_meanwhile if call.ended < end]
            if sum(min(MOMENT, later.sent - sooner.sent) for sooner, later in pairwise(calls)) > SECONDS:
                yield f"{job} could run for {end - begin:.1f} s, while {len(calls)} claims of its queue found nothing"


def long_waits(history: History):
    """Jobs that were available for long, with from when until when."""
    for touches in history.touches.values():
        for change, following in zip(touches, [*touches[1:], None], strict=True):
            if change.new is not None and change.new.state == "available":
                since, until = done(change.commit), begun(following.commit) if following else history.end
                if until - since > SECONDS:
                    yield change.new, since, until


def open_times(job: Job, since: float, until: float, full: dict, first: dict):
    """The long times within these in which nothing held the job back."""
    closed = [time for gate in gates(job) for time in within(full[gate], since, until)]
    if job.session is not None:
        closed += [
            (begin, end)
            for begin, end, other in first[session(job)]
            if other.id != job.id and (other.holds_session or rank(other) < rank(job))
        ]
    for begin, end in sorted([*closed, (until, NEVER)]):
        if min(begin, until) - since > SECONDS:
            yield since, min(begin, until)
        since = max(since, end)


def within(times: list[tuple[float, float]], since: float, until: float) -> list[tuple[float, float]]:
    """Those of some times, in order and apart from each other, that reach into these."""
    return times[max(0, bisect_left(times, (since,)) - 1) : bisect_left(times, (until,))]


def full_times(history: History) -> dict[tuple, list[tuple[float, float]]]:
    """For each gate the times in which it may have had no room."""
    running: dict[tuple, list] = defaultdict(lambda: [(-1, 0)])
    for change in history.changes:
        for job, step in ((change.old, -1), (change.new, 1)):
            if job is not None and job.state == "running":
                for gate in gates(job):
                    running[gate].append((change.commit.index, running[gate][-1][1] + step))
    found = defaultdict(list)
    for gate in {gate for change in history.changes for gate in gates(change.new or change.old)}:
        found[gate] = merged(_full(history, running[gate], history.limits.steps(gate)))
    return found


def _full(history: History, running: list, steps: list):
    """When running reached the limit, or the limit came down to it, until there was room again."""
    events = sorted([(index, "running", count) for index, count in running] + [(s.index, "limit", s.terms.sure) for s in steps])
    now, since = {"running": 0, "limit": NEVER}, None
    for number, (index, what, value) in enumerate(events):
        now[what] = value
        if number + 1 < len(events) and events[number + 1][0] == index:
            continue
        is_full = now["running"] >= now["limit"]
        if is_full and since is None:
            since = begun(history.commits[index]) if index >= 0 else -NEVER
        elif not is_full and since is not None:
            yield since, done(history.commits[index])
            since = None
    if since is not None:
        yield since, NEVER


def first_times(history: History) -> dict[tuple, list[tuple[float, float, Job]]]:
    """For each session the times in which a job of it waited, and may have come first."""
    found = defaultdict(list)
    for touches in history.touches.values():
        for change, following in zip(touches, [*touches[1:], None], strict=True):
            job = change.new
            if job is not None and job.session is not None and (job.state == "available" or job.holds_session):
                found[session(job)].append((begun(change.commit), done(following.commit) if following else NEVER, job))
    return found
