"""Backlogs with a bound, at every commit in the order of commits."""

from collections import Counter, defaultdict

from histories.history import History
from histories.limits import done
from histories.model import Job, Transaction

WAITING = ("available", "scheduled", "retryable")


def backlogs_keep_their_bounds(history: History):
    """No transaction that adds a job commits more waiting jobs than the greatest bound in force since it was sent, but for
    those that came back meanwhile. A SERIALIZABLE transaction cannot count what nobody has counted, and is admitted then."""
    waiting = Counter()
    returns = defaultdict(list)
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
        if not grown or commit.transaction is None or is_serializable(commit.transaction):
            continue
        sent = commit.transaction.sent
        for name in grown:
            most = history.bounds.greatest(name, commit.index, sent)
            if waiting[name] > most + sum(at >= sent for at in returns[name]):
                yield f"{name}: {waiting[name]} wait at commit {commit.index} where {most} may: {commit.transaction}"


def is_serializable(transaction: Transaction) -> bool:
    return any(call.arguments.get("level") == "SERIALIZABLE" for call in transaction.calls)


def backlogs(job: Job | None) -> set[tuple]:
    if job is None or job.state not in WAITING:
        return set()
    return {("queue", job.queue)} | ({("tenant", job.tenant)} if job.tenant is not None else set())
