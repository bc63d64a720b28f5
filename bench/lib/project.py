"""Where things are in this project."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "bench" / "sql"
RESULTS = ROOT / "target" / "bench"
PROJECT_PYTHON = ROOT / "target" / "venv" / "bin" / "python"
CLUSTER = ROOT / "scripts" / "cluster"


@cache
def pgbench_program() -> str:
    """The pgbench of the PostgreSQL that the project's scripts use."""
    find = 'source "$1/scripts/common.sh" && need_pg && echo "$PG_BIN/pgbench"'
    found = subprocess.run(["bash", "-c", find, "bash", ROOT], check=True, capture_output=True, text=True)
    return found.stdout.strip()
