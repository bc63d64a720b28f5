"""One long history with crashes: no rule may be broken. TURNSTILE_OPERATIONS and TURNSTILE_CRASHES tell how long."""

import os

import pytest

from histories.__main__ import recorded_and_checked
from histories.recording import Plan

OPERATIONS = int(os.environ.get("TURNSTILE_OPERATIONS", "300000"))
CRASHES = int(os.environ.get("TURNSTILE_CRASHES", "10"))


def test_a_history_with_crashes_breaks_no_rule(seed):
    problems = recorded_and_checked(Plan(seed, OPERATIONS, CRASHES))
    if problems:
        pytest.fail(problems, pytrace=False)
