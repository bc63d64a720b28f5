"""Every rule of check.py is fed a good history and bad ones: it must be neither too lax nor too strict."""

import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import check
import pytest

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


OVERLAP = changed(3, claimed_at=at(2.5))

RULES = (limits, check.sessions_kept_apart, check.sessions_in_order, once)
ACCEPTED = {
    **{f"{rule.__name__}, a good history": rule(GOOD) for rule in RULES},
    "no runs, limits": limits([]),
    "no runs, sessions apart": check.sessions_kept_apart([]),
    "no runs, sessions in order": check.sessions_in_order([]),
    "sessions of the same name, of other tenants": check.sessions_kept_apart([GOOD[0], GOOD[5], GOOD[7]]),
}

REFUSED = {
    "no runs, though jobs were enqueued": once([]),
    "a third run in two slots": limits([*GOOD, run(10, "big", "c", 1.5, 2)]),
    "a run of no length above the limit": limits([*GOOD, run(10, "big", "c", 2, 2)]),
    "one microsecond too early": limits(changed(7, claimed_at=at(1.999999))),
    "slots unknown": limits([*GOOD, run(10, "stranger", "a", 0, 1)]),
    "no slots at all": check.limits_kept([run(10, "none", "a", 0, 1)], {"none": 0}),
    "two runs of one session": check.sessions_kept_apart(OVERLAP),
    "a session's second run above the limit of the tenant": limits(OVERLAP),
    "a later position first": check.sessions_in_order(changed(2, position=30)),
    "a worse priority first": check.sessions_in_order(changed(1, priority=20)),
    "an equal place": check.sessions_in_order(changed(2, position=3)),
    "a lost job": once(GOOD[1:]),
    "a job finished twice": once([*GOOD, GOOD[0]]),
    "a job left behind": once(GOOD[1:], unfinished=[1]),
    "a job finished and left behind": once(GOOD, unfinished=[1]),
    "a job from nowhere": once([*GOOD, run(10, "big", "c", 7, 8)]),
    "another job's payload": once(changed(1, path="/2")),
    "a cancelled job": once(changed(1, state="cancelled")),
    "a second attempt": once(changed(1, attempt=2)),
    "a finish before the claim": once(changed(1, finished_at=at(-1))),
    "no claim at all": once(changed(1, claimed_at=None)),
}


@pytest.mark.parametrize("violations", ACCEPTED.values(), ids=ACCEPTED)
def test_a_history_that_keeps_the_rule_is_accepted(violations):
    assert violations == []


@pytest.mark.parametrize("violations", REFUSED.values(), ids=REFUSED)
def test_a_history_that_breaks_the_rule_is_refused(violations):
    assert violations != []


RESULT = {
    "size": 10,
    "lines": 2,
    "sha256": "3cd2b845bb8a0312bafe8468a196e9d96dd101624a3be01343a7b0a13ca4d26e",
}


@pytest.fixture
def done(tmp_path):
    """A run with the right result, of a file that can be read."""
    path = tmp_path / "odd 'name'\n"
    path.write_bytes(b"two\nlines\n")
    return run(1, "big", "a", 0, 1, path=str(path), result=RESULT)


def judged(done, **other):
    """The violations, and how many results were counted."""
    return check.results_right([replace(done, **other)], 50)


def test_a_right_result_is_accepted(done):
    assert judged(done) == ([], 1)


@pytest.mark.parametrize(
    "other",
    [{"result": RESULT | wrong} for wrong in ({"size": 11}, {"lines": 3}, {"sha256": "0" * 64})]
    + [{"result": None}, {"state": "discarded", "result": None}],
    ids=["size", "lines", "sha256", "none", "discarded though readable"],
)
def test_a_wrong_result_is_refused(done, other):
    assert judged(done, **other)[0] != []


def test_what_cannot_be_read_may_only_be_discarded(done, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert judged(done, state="discarded", path=str(tmp_path))[0] == []
    assert judged(done, state="discarded", path=str(pipe))[0] == []
    assert judged(done, path=str(tmp_path))[0] != []


def test_a_file_that_has_vanished_does_not_count(done):
    assert judged(done, path=done.path + "x") == ([], 0)


def test_no_more_are_judged_than_wanted(done):
    assert check.results_right([done] * 3, 2) == ([], 2)
