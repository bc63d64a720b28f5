"""Long histories with crashes: no rule may be broken. TURNSTILE_OPERATIONS and TURNSTILE_CRASHES tell how long."""

import os

import pytest

from histories.__main__ import record_of, recorded_and_checked
from histories.last_words import last_words
from histories.recording import Plan
from histories.rules import report
from histories.tally import AT_TIMES, MET

OPERATIONS = int(os.environ.get("TURNSTILE_OPERATIONS", "300000"))
CRASHES = int(os.environ.get("TURNSTILE_CRASHES", "10"))
# Fewer lanes than there are, so that they take turns.
FEW_LANES = {"turnstile.max_memory": "256kB"}
SPILLED = 5
# To meet everything that the rules are about.
LONG_ENOUGH = 50_000
MANY = 5

# As long as they are told to be.
pytestmark = pytest.mark.timeout(0)


@pytest.mark.long
def test_a_history_with_crashes_breaks_no_rule(seed):
    _breaks_no_rule(Plan(seed, OPERATIONS - OPERATIONS // SPILLED, CRASHES - CRASHES // SPILLED))


def test_a_history_with_more_lanes_than_fit_breaks_no_rule(seed):
    _breaks_no_rule(Plan(seed, OPERATIONS // SPILLED, CRASHES // SPILLED, FEW_LANES, pinned=True))


def _breaks_no_rule(plan: Plan) -> None:
    try:
        done, found = recorded_and_checked(plan)
    finally:
        print(last_words(record_of(plan)))
    if found:
        pytest.fail(f"record kept in {record_of(plan)}\n{report(found)}", pytrace=False)
    met = [*(MET if plan.operations >= LONG_ENOUGH else ()), *(AT_TIMES if plan.crashes >= MANY else ())]
    assert all(done[what] for what in met), "some rules had nothing to check"
