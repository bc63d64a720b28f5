"""Unique keys: what their modes forbid is nowhere committed."""

from collections import defaultdict

from histories.history import History
from histories.model import NEVER, Job

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
    holders: dict[tuple, dict[int, Job]] = defaultdict(dict)
    brought_back = {touch.id for touches in history.touches.values() for touch in touches[1:] if touch.old is None}
    for commit in history.commits:
        grown = set()
        for change in commit.changes:
            if change.id in brought_back:
                continue
            if change.old is not None and change.old.unique_key is not None:
                holders[change.old.tenant, change.old.unique_key].pop(change.id, None)
            new = change.new
            if new is not None and new.unique_key is not None and holds_alone(new):
                holders[new.tenant, new.unique_key][change.id] = new
                grown.add((new.tenant, new.unique_key))
        for key in grown:
            if len(held := [job for job in holders[key].values() if not _is_over(job, holders[key].values())]) > 1:
                yield f"jobs {held} hold the unique key {key} at commit {commit.index}: {commit.transaction}"


def _is_over(job: Job, others) -> bool:
    """Whether the window of a job was over when the last of these was enqueued."""
    return job.unique_until is not None and job.unique_until <= max(other.created_at for other in others)


def windows_are_kept(history: History):
    """In until_expired there is no second job of a key before the window of the first is over, whatever became of that."""
    until: dict[tuple, float] = {}
    for birth in history.births.values():
        job = birth.new
        if job.unique_mode == "until_expired" and job.unique_key is not None:
            key = (job.tenant, job.unique_key)
            if job.created_at < until.get(key, -NEVER):
                yield f"job {job.id} was enqueued at {job.created_at}, in the window of {key} until {until[key]}"
            until[key] = job.unique_until
