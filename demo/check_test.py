"""Feeds every rule of check.py a good history and bad ones, and fails where a rule is too lax or too strict."""

import os
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import check

START = datetime.now(timezone.utc) + timedelta(hours=1)  # after the change of the sample files
SLOTS = {"big": 2, "small": 1, "free": None}


def run(job_id, tenant, session, begin, end, priority=0, **other):
    values = {
        "id": job_id,
        "tenant": tenant,
        "session": session,
        "priority": priority,
        "position": job_id,
        "state": "completed",
        "attempt": 1,
        "worker": "w",
        "claimed_at": START + timedelta(seconds=begin),
        "finished_at": START + timedelta(seconds=end),
        "path": f"/{job_id}",
        "result": None,
    }
    return check.Run(**values | other)


GOOD = [
    run(1, "big", "a", 0, 4),
    run(2, "big", "b", 1, 3),
    run(3, "big", "b", 3, 5),
    run(4, "big", "a", 4, 4),
    run(5, "big", "a", 4, 6, priority=10),
    run(6, "small", "a", 0, 2),
    run(7, "small", "b", 2, 3, state="discarded"),
    run(8, "free", "a", 0, 9),
    run(9, "free", "b", 0, 9),
]
EXPECTED = {good.id: good.path for good in GOOD}


def changed(job_id, **other):
    return [replace(good, **other) if good.id == job_id else good for good in GOOD]


def at(seconds):
    return START + timedelta(seconds=seconds)


def limits(runs):
    return check.limits_kept(runs, SLOTS)


def once(runs, unfinished=()):
    return check.finished_once(runs, EXPECTED, list(unfinished))


def history_cases():
    """(what, violations, whether there should be any)"""
    for rule in (limits, check.sessions_kept_apart, check.sessions_in_order, once):
        yield f"{rule.__name__}: good history", rule(GOOD), False
        yield f"{rule.__name__}: empty history", rule([]), rule is once

    yield "a third run in two slots", limits(GOOD + [run(10, "big", "c", 1.5, 2)]), True
    yield "a run of no length above the limit", limits(GOOD + [run(10, "big", "c", 2, 2)]), True
    yield "one microsecond too early", limits(changed(7, claimed_at=at(1.999999))), True
    yield "slots unknown", limits(GOOD + [run(10, "stranger", "a", 0, 1)]), True
    yield "no slots at all", check.limits_kept([run(10, "none", "a", 0, 1)], {"none": 0}), True

    overlap = changed(3, claimed_at=at(2.5))
    yield "two runs of one session", check.sessions_kept_apart(overlap), True
    yield "which its tenant's limit does not show", limits(overlap), True
    yield "same name, other tenant", check.sessions_kept_apart([GOOD[0], GOOD[5], GOOD[7]]), False

    yield "a later position first", check.sessions_in_order(changed(2, position=30)), True
    yield "a worse priority first", check.sessions_in_order(changed(1, priority=20)), True
    yield "an equal place", check.sessions_in_order(changed(2, position=3)), True

    yield "a lost job", once(GOOD[1:]), True
    yield "a job finished twice", once(GOOD + [GOOD[0]]), True
    yield "a job left behind", once(GOOD[1:], unfinished=[1]), True
    yield "a job finished and left behind", once(GOOD, unfinished=[1]), True
    yield "a job from nowhere", once(GOOD + [run(10, "big", "c", 7, 8)]), True
    yield "another job's payload", once(changed(1, path="/2")), True
    yield "a cancelled job", once(changed(1, state="cancelled")), True
    yield "a second attempt", once(changed(1, attempt=2)), True
    yield "a finish before the claim", once(changed(1, finished_at=at(-1))), True
    yield "no claim at all", once(changed(1, claimed_at=None)), True


def result_cases(folder):
    path = os.path.join(folder, "odd 'name'\n")
    with open(path, "wb") as file:
        file.write(b"two\nlines\n")
    right = {
        "size": 10,
        "lines": 2,
        "sha256": "3cd2b845bb8a0312bafe8468a196e9d96dd101624a3be01343a7b0a13ca4d26e",
    }
    good = run(1, "big", "a", 0, 1, path=path, result=right)

    def judged(**other):
        return check.results_right([replace(good, **other)], 50)

    yield "a right result", judged()[0], False
    for key, wrong in (("size", 11), ("lines", 3), ("sha256", "0" * 64)):
        yield f"a wrong {key}", judged(result=right | {key: wrong})[0], True
    yield "no result", judged(result=None)[0], True
    yield "discarded though readable", judged(state="discarded", result=None)[0], True
    yield "discarded and unreadable", judged(state="discarded", path=folder)[0], False
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    yield "discarded and a pipe", judged(state="discarded", path=pipe)[0], False
    yield "completed and unreadable", judged(path=folder)[0], True

    vanished = judged(path=path + "x")
    yield "a vanished file", vanished[0], False
    yield "a vanished file is not counted", [] if vanished[1] == 0 else ["counted"], False
    yield "the sample's size", [] if check.results_right([good] * 3, 2)[1] == 2 else ["wrong"], False


def main():
    with tempfile.TemporaryDirectory() as folder:
        cases = [*history_cases(), *result_cases(folder)]
    wrong = [what for what, violations, expected in cases if bool(violations) != expected]
    for what in wrong:
        print(f"wrong verdict: {what}")
    print(f"{len(cases) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong))
