"""Leaves out each mechanism of the server side in turn while a short history is recorded: which rules notice?

Needs a build with the feature seeded_faults. What a history is too short or too polite to meet has a guard of its own: the
tests in pg_test/mutants.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "pg_test"))

from histories.history import load  # noqa: E402
from histories.recording import Plan, Stalled, record  # noqa: E402
from histories.rules import violations  # noqa: E402


def faults() -> list[str]:
    source = (ROOT / "src" / "pg" / "seeded.rs").read_text()
    enum = re.search(r"pub enum Seeded \{(.*?)\n\}", source, re.DOTALL)[1]
    return re.findall(r"^    (\w+),", enum, re.MULTILINE)


def noticed(fault: str, seed: int, operations: int) -> str:
    """The rules that a history with this fault breaks."""
    directory = ROOT / "target" / "histories" / f"mutant-{fault}"
    shutil.rmtree(directory, ignore_errors=True)
    try:
        record(Plan(seed, operations, 0, {"turnstile.seeded_fault": fault}), directory)
    except (Stalled, RuntimeError, AssertionError, subprocess.SubprocessError) as problem:
        return f"the history came to no end: {type(problem).__name__}"
    found = violations(load(directory))
    shutil.rmtree(directory)
    return ", ".join(f"{rule} ({len(lines)})" for rule, lines in found.items())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--operations", type=int, default=6000)
    arguments.add_argument("faults", nargs="*")
    given = arguments.parse_args()
    for fault in given.faults or faults():
        print(f"{fault}: {noticed(fault, given.seed, given.operations) or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
