"""What soaks have shown: a line for each part that came to its end, in a file that outlives them."""

import json
import subprocess
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "target" / "soak" / "results.jsonl"
CRASHES = ("kill_postmaster", "stop_at_once", "kill_backend")
DISTURBANCES = ("cancel", "terminate", "kill_worker", "pause_worker")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


# What this process runs, whatever comes to be there while it does.
COMMIT = _commit()


def note(part: str, **what) -> None:
    """Written at once: a soak that is stopped keeps what was done up to then."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    line = {"part": part, "at": datetime.now(UTC).isoformat(timespec="seconds"), "commit": COMMIT, **what}
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line), flush=True)


def summed() -> str:
    """All lines added up, as a table for docs/internals/reliability.md."""
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    commits: dict[str, dict] = defaultdict(dict)
    for line in map(json.loads, RESULTS.read_text().splitlines() if RESULTS.exists() else []):
        _add(totals, line)
        commits[line["part"]][line["commit"]] = None
    rows = ["| part | runs | what was done | seconds | with problems | commits |", "|---|---|---|---|---|---|"]
    for part, total in sorted(totals.items()):
        done = ", ".join(f"{total[name]:,.0f} {name}" for name in total if name not in ("runs", "seconds", "broken"))
        counts = f"{total['runs']:.0f} | {done} | {total['seconds']:,.0f} | {total['broken']:.0f}"
        rows.append(f"| {part} | {counts} | {', '.join(commits[part])} |")
    return "\n".join(rows)


def _add(totals: dict, line: dict) -> None:
    total = totals[line["part"]]
    total["runs"] += 1
    total["broken"] += bool(line.get("problems"))
    total["seconds"] += line.get("seconds", 0)
    for name in ("operations", "queries", "calls"):
        if name in line:
            total[name] += line[name]
    for name, ways in (("crashes", CRASHES), ("disturbances", DISTURBANCES)):
        if times := sum(line.get(way, 0) for way in ways):
            total[name] += times
