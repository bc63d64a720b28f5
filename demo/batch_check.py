"""Checks two batches that have ended, one after the other in a session. Every rule returns the violations that it found, as text.

A claim holds a slot from before its claimed_at until after its finished_at, so a correct queue never shows more runs at one moment than there
are slots. A changed row counts from the next claim on: what was asked for before the change has committed may still go by the old one.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from check import sweep

NEVER = datetime.max.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Run:
    id: int
    parent: int | None
    device: int | None
    state: str
    attempt: int
    created_at: datetime
    claimed_at: datetime
    finished_at: datetime
    result: Any
    asked_at: datetime  # when the worker sent its claim


@dataclass(frozen=True)
class Setting:
    """What the row said from some moment between these two on."""

    slots: int
    begun: datetime
    committed: datetime


def starts(runs):
    """Yields (run, number of runs under way) for each start, in order."""
    seen = set()
    for _, run, under_way in sweep(runs):
        if run.id not in seen:
            seen.add(run.id)
            yield run, under_way


def in_force(run, settings):
    """The settings by which the claim may have gone."""
    ends = [later.committed for _, later in pairwise(settings)] + [NEVER]
    return [setting for setting, end in zip(settings, ends) if setting.begun <= run.claimed_at and run.asked_at <= end]


def peaks(runs, settings):
    """For each setting, the most runs at once among the starts that went by it for certain."""
    found = [0] * len(settings)
    for run, under_way in starts(runs):
        possible = in_force(run, settings)
        if len(possible) == 1:
            place = settings.index(possible[0])
            found[place] = max(found[place], under_way)
    return found


def slots_kept(runs, settings):
    """settings: in the order in which they were made, the first before the first claim."""
    found = []
    for run, under_way in starts(runs):
        most = max((setting.slots for setting in in_force(run, settings)), default=0)
        if under_way > most:
            found.append(f"job {run.id} made {under_way} run at {run.claimed_at.time()}, {most} may")
    unseen = [setting for setting, peak in zip(settings, peaks(runs, settings)) if peak == 0]
    return found + [f"nothing started while the row said {setting.slots}" for setting in unseen]


def each_device_once(runs, devices, unreachable):
    """unreachable: the devices whose jobs are discarded."""
    found = []
    seen = Counter(run.device for run in runs)
    found += [f"device {device}: {seen[device]} jobs" for device in range(1, devices + 1) if seen[device] != 1]
    found += [f"device {device}: nobody asked for it" for device in seen if device not in range(1, devices + 1)]
    for run in runs:
        wanted = "discarded" if run.device in unreachable else "completed"
        if (run.state, run.attempt) != (wanted, 1):
            found.append(f"device {run.device}: {run.state} with attempt {run.attempt}")
    return found


def callback_once(parents, runs):
    """parents: what the history has of the parent. Its result is what its run was told of the children."""
    if len(parents) != 1:
        return [f"the callback ended {len(parents)} times"]
    (callback,) = parents
    found = []
    if (callback.state, callback.attempt) != ("completed", 1):
        found.append(f"the callback: {callback.state} with attempt {callback.attempt}")
    early = [run for run in runs if run.finished_at > callback.claimed_at]
    found += [f"the callback began before job {run.id} ended" for run in early]
    told = {state: number for state, number in (callback.result or {}).items() if number}
    if told != Counter(run.state for run in runs):
        found.append(f"the callback was told {told}")
    return found


def one_after_the_other(callback, next_runs):
    early = [run for run in next_runs if run.claimed_at < callback.finished_at]
    return [f"job {run.id} began before the callback in front of it ended" for run in early]


def others_went_on(others, batch, callback):
    """others: the jobs of another session, added while the batch ran."""
    found = [f"job {run.id} of the other session: {run.state}" for run in others if run.state != "completed"]
    begun = min(run.claimed_at for run in batch)
    if not any(begun <= run.created_at and run.finished_at <= callback.claimed_at for run in others):
        found.append("no job of the other session came and went while the batch ran")
    return found
