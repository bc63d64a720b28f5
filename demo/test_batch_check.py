"""Every rule of batch_check.py is fed a good history and bad ones: it must be neither too lax nor too strict."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import batch_check as check
import pytest

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
UNREACHABLE = {4}


def at(seconds):
    return START + timedelta(seconds=seconds)


def run(job_id, begin, end, **other):
    values = {
        "id": job_id,
        "parent": 100,
        "device": job_id,
        "state": "discarded" if job_id in UNREACHABLE else "completed",
        "attempt": 1,
        "created_at": START,
        "claimed_at": at(begin),
        "finished_at": at(end),
        "result": None,
        "asked_at": at(begin - 0.1),
    }
    return check.Run(**values | other)


# Two slots, one while 4 to 6 s, then two again.
SETTINGS = [check.Setting(2, at(-1), at(-1)), check.Setting(1, at(3.9), at(4)), check.Setting(2, at(5.9), at(6))]
GOOD = [run(1, 0, 3), run(2, 1, 4.5), run(3, 4.5, 6.5), run(4, 6.2, 8)]
CALLBACK = run(100, 8, 9, parent=None, device=None, result={"completed": 3, "discarded": 1, "cancelled": 0})
OTHERS = [run(200, 2, 3, created_at=at(1), parent=None, device=None)]


def changed(job_id, **other):
    return [replace(good, **other) if good.id == job_id else good for good in GOOD]


def slots(runs):
    return check.slots_kept(runs, SETTINGS)


def once(runs):
    return check.each_device_once(runs, 4, UNREACHABLE)


def callback(*parents, runs=GOOD):
    return check.callback_once(list(parents), runs)


def told(**states):
    return callback(replace(CALLBACK, result=dict(CALLBACK.result, **states)))


def others(*runs):
    return check.others_went_on(list(runs), GOOD, CALLBACK)


ACCEPTED = {
    "slots": slots(GOOD),
    # Its claim was under way when the row changed.
    "a start by the old setting": slots([*GOOD, run(5, 4.2, 4.4, asked_at=at(3.95))]),
    "a start by the setting that is about to hold": slots([*GOOD, run(5, 5.95, 6.1, asked_at=at(5.92))]),
    "devices": once(GOOD),
    "callback": callback(CALLBACK),
    "a callback at the moment of the last end": callback(replace(CALLBACK, claimed_at=GOOD[-1].finished_at)),
    "a state without children is left out": callback(replace(CALLBACK, result={"completed": 3, "discarded": 1})),
    "the next batch": check.one_after_the_other(CALLBACK, [run(1, 9, 10)]),
    "others": others(*OTHERS),
    "others, one of them later": others(*OTHERS, run(201, 9, 10, created_at=at(8), parent=None)),
}

REFUSED = {
    "a third run in two slots": slots([*GOOD, run(5, 1.5, 2)]),
    "a second run in one slot": slots([*GOOD, run(5, 4.7, 4.8)]),
    "asked for just after the change": slots([*GOOD, run(5, 4.2, 4.4, asked_at=at(4.1))]),
    "no run by a setting": slots(changed(3, claimed_at=at(6.05), asked_at=at(6.05))),
    "no runs, slots": slots([]),
    "a device left out": once(GOOD[1:]),
    "a device twice": once([*GOOD, run(5, 8, 9, device=1)]),
    "a device from nowhere": once([*GOOD, run(5, 8, 9)]),
    "no device": once([*GOOD, run(5, 8, 9, device=None)]),
    "a device cancelled": once(changed(1, state="cancelled")),
    "an unreachable device completed": once(changed(4, state="completed")),
    "a second attempt of a device": once(changed(1, attempt=2)),
    "no callback": callback(),
    "two callbacks": callback(CALLBACK, CALLBACK),
    "a failed callback": callback(replace(CALLBACK, state="discarded")),
    "a second attempt of the callback": callback(replace(CALLBACK, attempt=2)),
    "one microsecond too early": callback(replace(CALLBACK, claimed_at=at(7.999999))),
    "told too many": told(completed=4),
    "told of a cancelled one": told(cancelled=1),
    "told nothing": callback(replace(CALLBACK, result=None)),
    "the next batch too early": check.one_after_the_other(CALLBACK, [run(1, 8.999999, 10), run(2, 9, 10)]),
    "no others": others(),
    "others only before": others(replace(OTHERS[0], created_at=at(-1))),
    "others only after": others(replace(OTHERS[0], finished_at=at(8.1))),
    "another that was discarded": others(*OTHERS, run(201, 2, 3, created_at=at(1), state="discarded")),
}


@pytest.mark.parametrize("violations", ACCEPTED.values(), ids=ACCEPTED)
def test_a_history_that_keeps_the_rule_is_accepted(violations):
    assert violations == []


@pytest.mark.parametrize("violations", REFUSED.values(), ids=REFUSED)
def test_a_history_that_breaks_the_rule_is_refused(violations):
    assert violations != []


def test_the_peaks_are_told_by_setting():
    assert check.peaks(GOOD, SETTINGS) == [2, 1, 2]
