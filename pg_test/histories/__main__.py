"""Records a history and checks it, or checks again what was recorded: see --help."""

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
from histories.tally import tally  # noqa: E402

RECORDS = Path(__file__).resolve().parents[2] / "target" / "histories"


def record_of(plan: Plan) -> Path:
    return RECORDS / f"seed-{plan.seed}"


def recorded_and_checked(plan: Plan) -> tuple[dict, dict]:
    """Records a history: how often what was done, and what each broken rule found; the record is kept if anything is."""
    directory = record_of(plan)
    shutil.rmtree(directory, ignore_errors=True)
    began = time.monotonic()
    done = record(plan, directory)
    recorded = time.monotonic()
    history = load(directory)
    found, met = violations(history), tally(history)
    if not found:
        shutil.rmtree(directory)
    seconds = {"recorded": round(recorded - began), "checked": round(time.monotonic() - recorded)}
    print(f"seed {plan.seed}: {done}, met {met}, seconds {seconds}", flush=True)
    return done | met | {"seconds": sum(seconds.values())}, found


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python pg_test/histories", description=__doc__)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    arguments.add_argument("--operations", type=int, default=50_000)
    arguments.add_argument("--crashes", type=int, default=3)
    arguments.add_argument("--memory", help="turnstile.max_memory, to see what happens where it is too little, as 256kB")
    arguments.add_argument("--pinned", action="store_true", help="a snapshot stays open all the time")
    arguments.add_argument("--check", type=Path, help="check the record in this directory again")
    given = arguments.parse_args()
    if given.check:
        found = violations(load(given.check))
    else:
        settings = {"turnstile.max_memory": given.memory} if given.memory else {}
        plan = Plan(given.seed, given.operations, given.crashes, settings, given.pinned)
        _, found = recorded_and_checked(plan)
        if found:
            print(f"record kept in {record_of(plan)}")
    print(report(found) or "nothing found")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
