"""Hours of everything, part by part, each written down as soon as it is done; stop it when you like. See --help."""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from histories.__main__ import recorded_and_checked  # noqa: E402
from histories.recording import Plan  # noqa: E402
from soak import results, sqlsmith  # noqa: E402

FEW_LANES = {"turnstile.max_memory": "256kB"}
HOUR = 3600


def histories(given) -> bool:
    """Rounds, each with the next seed; every third seed under a snapshot that stays open."""
    plans = [Plan(seed, given.operations, given.crashes, pinned=seed % 3 == 0) for seed in _seeds(given)]
    return all([_history("history, pinned horizon" if plan.pinned else "history", plan) for plan in plans])


def few_lanes(given) -> bool:
    """The same with more lanes than fit."""
    plans = [Plan(seed, given.operations, given.crashes, FEW_LANES) for seed in _seeds(given)]
    return all([_history("history, more lanes than fit", plan) for plan in plans])


def _seeds(given) -> range:
    return range(given.seed, given.seed + given.rounds)


def horizon(given) -> bool:
    """One snapshot open for the whole time, with less to do, so that all of it can be checked."""
    return _history("history, one snapshot", Plan(given.seed, 0, 0, pinned=True, seconds=given.seconds, leisure=0.3))


def _history(part: str, plan: Plan) -> bool:
    """A history that came to no end is a problem as well, and the next one goes on."""
    try:
        done, found = recorded_and_checked(plan)
        problems = {rule: len(lines) for rule, lines in found.items()}
    except Exception as error:  # noqa: BLE001
        done, problems = {}, {type(error).__name__: str(error)[:300]}
    results.note(part, seed=plan.seed, **done, problems=problems)
    return not problems


def smith(given) -> bool:
    began = time.monotonic()
    done = sqlsmith.forge(given.seconds, given.seed)
    results.note("sqlsmith", seed=given.seed, seconds=round(time.monotonic() - began), **done)
    return not done["problems"]


def nonsense(given) -> bool:
    """A million calls with bad input."""
    return _pytest("bad input", "pg_test/faults/test_bad_input.py", given.seed)


def session(given) -> bool:
    """A million calls in one session."""
    return _pytest("one session", "pg_test/faults/test_server_limits.py::test_a_session_of_many_calls_does_not_grow", given.seed)


def _pytest(part: str, test: str, seed: int) -> bool:
    began = time.monotonic()
    environment = os.environ | {"TURNSTILE_CALLS": "1000000", "TURNSTILE_CLUSTER": "soak", "PYTEST_TIMEOUT": "0"}
    done = subprocess.run(
        [results.ROOT / "scripts" / "run-pytest", test, "--seed", str(seed)], env=environment, cwd=results.ROOT, check=False
    )
    problems = [f"exit {done.returncode}"] if done.returncode else []
    results.note(part, seed=seed, calls=1_000_000, seconds=round(time.monotonic() - began), problems=problems)
    return not problems


def roles(given) -> bool:
    """A million calls with bad input by each of the roles that may do some things only."""
    return _pytest("bad input by roles", "pg_test/rights/test_nonsense.py", given.seed)


PARTS = {part.__name__: part for part in (histories, few_lanes, smith, horizon, nonsense, session, roles)}


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python pg_test/soak", description=__doc__)
    arguments.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all, if none is named")
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(2**30))
    arguments.add_argument("--rounds", type=int, default=40, help="histories")
    arguments.add_argument("--operations", type=int, default=250_000, help="of each history")
    arguments.add_argument("--crashes", type=int, default=3, help="of each history")
    arguments.add_argument("--seconds", type=float, default=HOUR, help="of sqlsmith, and of the snapshot that stays open")
    arguments.add_argument("--sum", action="store_true", help="only add up what was done so far")
    given = arguments.parse_args()
    # The server is taken down in either case.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sound = True
    try:
        for part in [] if given.sum else given.parts or PARTS:
            sound &= PARTS[part](given)
    except KeyboardInterrupt:
        print("stopped")
    print(results.summed())
    return not sound


if __name__ == "__main__":
    sys.exit(main())
