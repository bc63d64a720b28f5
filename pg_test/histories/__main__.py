"""Records histories and checks them, or checks again what was recorded: see --help."""

import argparse
import secrets
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from histories.history import load  # noqa: E402
from histories.recording import Plan, record  # noqa: E402
from histories.rules import report, violations  # noqa: E402

RECORDS = Path(__file__).resolve().parents[2] / "target" / "histories"


def recorded_and_checked(plan: Plan) -> str:
    """Records a history and says what is wrong with it; the record is kept if anything is."""
    directory = RECORDS / f"seed-{plan.seed}"
    shutil.rmtree(directory, ignore_errors=True)
    began = time.monotonic()
    done = record(plan, directory)
    recorded = time.monotonic()
    found = violations(load(directory))
    print(f"seed {plan.seed}: {done}, recorded in {recorded - began:.0f} s, checked in {time.monotonic() - recorded:.0f} s")
    if found:
        return f"record kept in {directory}\n{report(found)}"
    shutil.rmtree(directory)
    return ""


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m histories", description=__doc__)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="of the first round")
    arguments.add_argument("--operations", type=int, default=50_000, help="calls of each round")
    arguments.add_argument("--crashes", type=int, default=3, help="crashes of each round")
    arguments.add_argument("--rounds", type=int, default=1, help="histories, each with the next seed")
    arguments.add_argument("--check", type=Path, help="check the record in this directory again")
    given = arguments.parse_args()
    if given.check:
        found = violations(load(given.check))
        print(report(found) or "nothing found")
        return bool(found)
    broken = 0
    for number in range(given.rounds):
        problems = recorded_and_checked(Plan(given.seed + number, given.operations, given.crashes))
        if problems:
            print(problems)
            broken += 1
        sys.stdout.flush()
    print(f"{given.rounds - broken} of {given.rounds} histories without a violation")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
