"""The sweep itself: a wrong one would let every rule of this folder pass."""

import pytest

from support.runlog import Limits, Run, violations
from support.sweep import most_at_once


@pytest.mark.parametrize(
    ("intervals", "most"),
    [
        ([], 0),
        ([(1, 2)], 1),
        ([(1, 2), (2, 3)], 1),
        ([(1, 3), (2, 4)], 2),
        ([(1, 9), (2, 3), (4, 5), (4, 6)], 3),
        ([(1, 2), (1, 2), (1, 2)], 3),
    ],
)
def test_the_sweep_counts_what_has_an_instant_in_common(intervals, most):
    assert most_at_once(intervals) == most


def _run(sent, got, ended, gate="g", job_id=1):
    return Run(job_id, 1, (gate,), sent, got, ended)


def test_a_claim_beyond_the_limit_is_a_violation():
    limits = Limits({"g": 2})
    held = [_run(0, 1, 9), _run(0, 1, 9)]
    assert violations(held, limits) == []
    assert violations([*held, _run(5, 6, 9)], limits)
    assert violations([*held, _run(10, 11, 12)], limits) == []
    assert violations([*held, _run(8, 10, 12)], limits) == [], "the others may have ended just before"


def test_a_limit_in_change_allows_the_greater_of_the_two_while_it_changes():
    limits = Limits({"g": 1})
    limits.change("g", 2, 5, 6)
    limits.change("g", 1, 20, 21)
    assert violations([_run(0, 1, 99), _run(2, 3, 99)], limits)
    assert violations([_run(0, 1, 99), _run(4, 5.5, 99)], limits) == []
    assert violations([_run(0, 1, 99), _run(7, 8, 99)], limits) == []
    assert violations([_run(0, 1, 99), _run(20.5, 22, 99)], limits) == []
    assert violations([_run(0, 1, 99), _run(22, 23, 99)], limits)


def test_no_limit_is_never_passed():
    limits = Limits({"g": None})
    assert violations([_run(0, 1, 9)] * 50, limits) == []


def test_a_resumed_run_counts_as_held_but_not_as_a_claim():
    limits = Limits({"g": 1})
    first, resumed = _run(0, 1, 2), Run(1, 1, ("g",), 4, 4, 9, claimed=False)
    assert violations([first, resumed], limits) == []
    assert violations([first, resumed, _run(5, 6, 7)], limits)
