"""Limits and sessions, at every commit in the order of commits."""

from collections import Counter, defaultdict

from histories.history import History
from histories.limits import done
from histories.model import NEVER, Change, Job, gates, is_claim, session


def sent_at(history: History, claim: Change) -> float:
    """When the claim was asked for: before that it had no room."""
    call = history.by_token.get(claim.new.worker)
    return call.sent if call else -NEVER


def limits_hold_at_every_commit(history: History):
    """A claim takes no gate past the limit, the greatest that was in force since it was sent.

    More may run where a limit was lowered meanwhile, but then nothing new. A session is a gate with one slot.
    """
    running = Counter()
    for commit in history.commits:
        entered: dict[tuple, float] = {}
        for change in commit.changes:
            if change.old is not None and change.old.state == "running":
                running.subtract(gates(change.old))
            if change.new is not None and change.new.state == "running":
                running.update(gates(change.new))
            if is_claim(change):
                sent = sent_at(history, change)
                for gate in gates(change.new):
                    entered[gate] = min(sent, entered.get(gate, NEVER))
        for gate, sent in entered.items():
            limit = history.limits.greatest(gate, commit.index, sent)
            if running[gate] > limit:
                yield f"{gate}: {running[gate]} run at commit {commit.index} where {limit} may: {commit.transaction}"


def holds_its_session(job: Job | None) -> bool:
    """Whether a job has failed and waits, in queues whose sessions wait for it, as all of a history do."""
    return job is not None and job.session is not None and (job.holds_session or job.state == "retryable")


def held_sessions_wait(history: History):
    """While a failed job holds its session, no other of the session starts."""
    holders: dict[tuple, dict[int, float]] = defaultdict(dict)
    for commit in history.commits:
        for change in commit.changes:
            old, new = change.old, change.new
            if holds_its_session(old):
                since = holders[session(old)].pop(change.id, None)
            else:
                since = None
            if holds_its_session(new):
                same = since is not None and session(old) == session(new)
                holders[session(new)][change.id] = since if same else done(commit)
            if is_claim(change) and new.session is not None:
                others = {job: since for job, since in holders[session(new)].items() if job != change.id}
                before = [job for job, since in others.items() if since < sent_at(history, change)]
                if before:
                    yield f"job {change.id} started while {before} held {session(new)}, at commit {commit.index}"
