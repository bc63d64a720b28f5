"""Unique keys: what their modes forbid is nowhere committed."""

from collections import defaultdict

from histories.history import History
from histories.model import Job

_LIVE = ("until_executed",)
_WAITING = ("until_executing", "until_and_while_executing", "replace")


def holds_alone(job: Job) -> bool:
    """Whether no other job of the key may be like this one; started jobs hold their keys by a gate, if at all."""
    if job.unique_mode in _LIVE:
        return True
    # A job that was released has lost its key to who came meanwhile, and takes it again: then there are two.
    waits = job.state in ("available", "scheduled") and job.attempt == 0
    return job.unique_mode in _WAITING and waits


def one_job_holds_a_key(history: History):
    """At no commit two jobs of a key are live, or waiting, where the mode of the key lets one."""
    holders: dict[tuple, set[int]] = defaultdict(set)
    brought_back = {touch.id for touches in history.touches.values() for touch in touches[1:] if touch.old is None}
    for commit in history.commits:
        grown = set()
        for change in commit.changes:
            if change.id in brought_back:
                continue
            if change.old is not None and change.old.unique_key is not None:
                holders[change.old.tenant, change.old.unique_key].discard(change.id)
            new = change.new
            if new is not None and new.unique_key is not None and holds_alone(new):
                holders[new.tenant, new.unique_key].add(change.id)
                grown.add((new.tenant, new.unique_key))
        for key in grown:
            if len(holders[key]) > 1:
                yield f"jobs {sorted(holders[key])} hold the unique key {key} at commit {commit.index}: {commit.transaction}"
