"""The scheduler by itself, measured by criterion: no cluster, no contenders."""

import json
import subprocess
from shutil import rmtree

from lib.project import ROOT
from peers.arena import Unable, last_line

KEY = "scheduler"
COMMAND = ["cargo", "bench", "--quiet", "-p", "turnstile-scheduler", "--bench", "scheduler"]
CRITERION = ROOT / "target" / "criterion"


def measure(quick: bool) -> dict:
    # What an earlier version of the benchmark has left must not be taken for its own.
    rmtree(CRITERION, ignore_errors=True)
    command = [*COMMAND, "--", "--quick"] if quick else COMMAND
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Unable(last_line(done.stderr))
    memory = [line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith("bytes ")]
    return {"memory": memory, "steps": _steps(), "complete": True, "quick": quick}


def _steps() -> list[dict]:
    """The medians that criterion has left, in nanoseconds."""
    found = []
    for file in sorted(CRITERION.glob("*/*/*/new/benchmark.json")):
        names = json.loads(file.read_text())
        estimates = json.loads(file.with_name("estimates.json").read_text())
        found.append(
            {
                "step": names["group_id"],
                "shape": names["function_id"],
                "lanes": int(names["value_str"]),
                "ns": estimates["median"]["point_estimate"],
            }
        )
    return found
