"""Servers whose instructions callgrind counts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lib.project import pgbench_program

BIN = Path(pgbench_program()).parent
SKIPPED = 77


def need_valgrind() -> None:
    if shutil.which("valgrind") is None:
        print("valgrind is missing (Debian: apt-get install valgrind)", file=sys.stderr)
        sys.exit(SKIPPED)


def as_server(command: list) -> list:
    """PostgreSQL does not run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


def run(command: list, **more) -> subprocess.CompletedProcess:
    return subprocess.run(as_server(command), check=True, capture_output=True, text=True, cwd="/", **more)


def give_to_server(place: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(place, "postgres")


def make_data(data: Path, settings: str) -> None:
    run([BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"])
    with (data / "postgresql.conf").open("a") as file:
        file.write(settings)


def totals(profile: Path) -> int | None:
    """None: it is not written yet."""
    found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE) if profile.exists() else None
    return int(found[1]) if found else None
