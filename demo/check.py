"""Checks a finished queue against what it promises. Every rule returns the violations that it found, as text.

A run lasts from claimed_at to finished_at. Both are taken inside their transactions, the first after the slot
was found free, the last before the slot becomes free; so a correct queue never shows more runs at one moment
than there are slots. A run that ends at the very moment at which another begins has made room for it.
"""

import hashlib
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# What happens first among all that the clock shows at one moment.
FINISH, MOMENTARY, START = 0, 1, 2


@dataclass(frozen=True)
class Run:
    id: int
    tenant: str
    session: str
    priority: int
    position: int
    state: str
    attempt: int
    worker: str
    claimed_at: datetime
    finished_at: datetime
    path: str
    result: Any


def by(key, runs):
    groups = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return groups


def sweep(runs):
    """Yields (moment, run, number of runs under way) for every start and finish, in order."""
    events = []
    for run in runs:
        momentary = run.claimed_at == run.finished_at
        events.append((run.claimed_at, MOMENTARY if momentary else START, run.id, 1, run))
        events.append((run.finished_at, MOMENTARY if momentary else FINISH, run.id, 2, run))
    under_way = 0
    for moment, _, _, half, run in sorted(events, key=lambda event: event[:4]):
        under_way += 1 if half == 1 else -1
        yield moment, run, under_way


def peak(runs):
    return max((under_way for _, _, under_way in sweep(runs)), default=0)


def first_above(runs, limit):
    for moment, run, under_way in sweep(runs):
        if under_way > limit:
            return f"job {run.id} made {under_way} run at {moment.time()}, {limit} may"
    return None


def timed(runs):
    """The runs that the rules about time can judge; finished_once reports the others."""
    return [run for run in runs if run.claimed_at and run.finished_at and run.claimed_at <= run.finished_at]


def limits_kept(runs, slots):
    """slots: tenant → limit, None for no limit."""
    found = []
    for tenant, own in by(lambda run: run.tenant, timed(runs)).items():
        if tenant not in slots:
            found.append(f"tenant {tenant!r}: its slots are unknown")
        elif slots[tenant] is not None and (above := first_above(own, slots[tenant])):
            found.append(f"tenant {tenant!r}: {above}")
    return found


def sessions_kept_apart(runs):
    found = []
    for session, own in by(lambda run: (run.tenant, run.session), timed(runs)).items():
        if above := first_above(own, 1):
            found.append(f"session {session!r}: {above}")
    return found


def sessions_in_order(runs):
    """Holds only where all jobs of a session were there before its first claim."""
    found = []
    for session, own in by(lambda run: (run.tenant, run.session), timed(runs)).items():
        own.sort(key=lambda run: (run.claimed_at, run.finished_at))
        for earlier, later in zip(own, own[1:]):
            if (earlier.priority, earlier.position) >= (later.priority, later.position):
                found.append(f"session {session!r}: job {earlier.id} ran before job {later.id}")
                break
    return found


def finished_once(runs, expected, unfinished):
    """expected: id → path, as enqueued; unfinished: the ids that the queue still holds."""
    found = [f"job {job_id}: not finished" for job_id in unfinished]
    seen = Counter(run.id for run in runs)
    found += [f"job {job_id}: lost" for job_id in expected.keys() - seen.keys() - set(unfinished)]
    found += [f"job {job_id}: {times} times in the history" for job_id, times in seen.items() if times > 1]
    for run in runs:
        if run.id not in expected:
            found.append(f"job {run.id}: nobody enqueued it")
        elif run.path != expected[run.id]:
            found.append(f"job {run.id}: names {run.path!r} instead of {expected[run.id]!r}")
        elif run.state not in ("completed", "discarded"):
            found.append(f"job {run.id}: {run.state}")
        elif run.attempt != 1:
            found.append(f"job {run.id}: took {run.attempt} attempts")
        elif not timed([run]):
            found.append(f"job {run.id}: ran from {run.claimed_at} to {run.finished_at}")
    return found


def recomputed(path):
    size = lines = 0
    digest = hashlib.sha256()
    if not os.path.isfile(path):
        raise OSError(f"not a regular file: {path}")
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 16), b""):
            size, lines = size + len(block), lines + block.count(b"\n")
            digest.update(block)
    return {"size": size, "lines": lines, "sha256": digest.hexdigest()}


def changed_since(path, moment):
    try:
        status = os.stat(path)
    except OSError:
        return True
    return max(status.st_mtime, status.st_ctime) >= moment.timestamp()


def result_judged(run):
    """The violation or None, and whether the file still allows a verdict."""
    if changed_since(run.path, run.claimed_at):
        return None, False
    try:
        right = recomputed(run.path)
    except OSError:
        right = None
    if run.state == "discarded":
        return (f"job {run.id}: discarded, but {run.path!r} can be read" if right else None), True
    return (f"job {run.id}: {run.result} instead of {right}" if run.result != right else None), True


def results_right(runs, wanted):
    """Recomputes the first runs, as many as wanted, whose files are as they were; returns also how many."""
    found, judged = [], 0
    for run in timed(runs):
        if judged == wanted:
            break
        violation, counted = result_judged(run)
        judged += counted
        if violation:
            found.append(violation)
    return found, judged
