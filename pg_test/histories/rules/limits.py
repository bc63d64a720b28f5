"""Limits and sessions, at every commit in the order of commits."""

from collections import Counter, defaultdict

from histories import mix
from histories.history import History
from histories.limits import done
from histories.model import NEVER, Change, Job, gates, is_claim, session
from support.buckets import overfull


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


def pauses_hold(history: History):
    """Nothing starts behind a gate before its pause is over, by the server's clock."""
    for change in history.changes:
        if is_claim(change):
            for gate in gates(change.new):
                in_force = history.limits.in_force(gate, change.commit.index, sent_at(history, change))
                until = min(terms.until for terms in in_force)
                if change.new.claimed_at < until:
                    yield f"{gate}: job {change.id} was claimed at {change.new.claimed_at}, in a pause until {until}"


def rates_hold(history: History):
    """While a gate has a rate, no window has more starts than the bucket; those that were undone count, but are not known."""
    starts = defaultdict(list)
    for change in history.changes:
        if is_claim(change):
            for gate in gates(change.new):
                starts[gate].append((sent_at(history, change), change.commit.index, change.new.claimed_at))
    for gate, claims in starts.items():
        steps = history.limits.steps(gate)
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if step.terms.rate is None:
                continue
            rate, per, burst = step.terms.rate
            last = following.index if following else NEVER
            times = sorted(round(at * 1_000_000) for sent, index, at in claims if sent > step.done and index < last)
            for count, length in overfull(times, rate, per, burst):
                yield f"{gate}: {count} starts in {length} microseconds, where {rate} may in {per}, at once {burst}"


def held_sessions_wait(history: History):
    """While a failed job holds its session, no other of the session starts."""
    holders: dict[tuple, dict[int, float]] = defaultdict(dict)
    moved: set[int] = set()
    for commit in history.commits:
        for change in commit.changes:
            _note_moved(change, moved)
            old, new = change.old, change.new
            since = holders[session(old)].pop(change.id, None) if old is not None and old.session is not None else None
            if new is not None and new.session is not None and _must_hold(new, moved):
                same = since is not None and session(old) == session(new)
                holders[session(new)][change.id] = since if same else done(commit)
            if is_claim(change) and new.session is not None:
                others = {job: since for job, since in holders[session(new)].items() if job != change.id}
                before = [job for job, since in others.items() if since < sent_at(history, change)]
                if before:
                    yield f"job {change.id} started while {before} held {session(new)}, at commit {commit.index}"


def _must_hold(job: Job, moved: set[int]) -> bool:
    """A job that has failed and waits, in a queue whose sessions wait for it; or one that says that it holds."""
    failed = job.state == "retryable" and job.queue != mix.PASSING and job.id not in moved
    return job.holds_session or failed


def _note_moved(change: Change, moved: set[int]) -> None:
    """One that is moved to another session while it waits holds nothing where it comes."""
    if change.old is None or change.new is None or is_claim(change):
        moved.discard(change.id)
    elif session(change.old) != session(change.new):
        moved.add(change.id)
