"""Backlogs with a bound, at every commit in the order of commits."""

from collections import Counter, defaultdict

from histories.history import History
from histories.limits import SOON, done
from histories.model import Job

WAITING = ("available", "scheduled", "retryable")
# Clients that come back within a second come from a crash.
MANY = 3


def backlogs_keep_their_bounds(history: History):
    """No transaction that adds a job commits more waiting jobs than the greatest bound in force since it was sent, but for
    those that came back meanwhile. While somebody counts after a crash or a rebuild producers are admitted."""
    waiting = Counter()
    returns = defaultdict(list)
    uncounted = uncounted_times(history)
    for commit in history.commits:
        grown = set()
        for change in commit.changes:
            old, new = backlogs(change.old), backlogs(change.new)
            waiting.subtract(old)
            waiting.update(new)
            if change.old is None:
                grown |= new
            else:
                for name in new - old:
                    returns[name].append(done(commit))
        if not grown or commit.transaction is None:
            continue
        sent, ended = commit.transaction.sent, done(commit)
        for name in grown:
            most = history.bounds.greatest(name, commit.index, sent)
            if waiting[name] <= most + sum(at >= sent for at in returns[name]):
                continue
            if not any(begin <= ended and sent <= end for begin, end in uncounted):
                yield f"{name}: {waiting[name]} wait at commit {commit.index} where {most} may: {commit.transaction}"


def backlogs(job: Job | None) -> set[tuple]:
    if job is None or job.state not in WAITING:
        return set()
    return {("queue", job.queue)} | ({("tenant", job.tenant)} if job.tenant is not None else set())


def uncounted_times(history: History) -> list[tuple[float, float]]:
    """When nobody may have known how many jobs wait: in the beginning, after crashes, and in rebuilds."""
    times = [(call.sent, call.ended + (0 if call.outcome == "ok" else SOON)) for call in history.called("rebuild")]
    connects = sorted((call.sent, call.ended, call.client) for call in history.called("connect"))
    for number, (sent, ended, _) in enumerate(connects):
        near = {client for at, _, client in connects[number : number + 20] if at <= sent + SOON}
        if len(near) >= MANY:
            times.append((sent - SOON, ended + 2 * SOON))
    return times
