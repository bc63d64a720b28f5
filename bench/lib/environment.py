"""What the figures were measured on."""

import os
import platform
import re
import subprocess
from pathlib import Path

from lib.database import Database
from lib.project import ROOT, pgbench_program
from lib.report import Report


def _first_match(file: str, pattern: str) -> str:
    try:
        found = re.search(pattern, Path(file).read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else "unknown"


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip() or "unknown"


def _memory() -> str:
    kilobytes = _first_match("/proc/meminfo", r"^MemTotal: +(\d+) kB")
    return f"{int(kilobytes) / 2**20:.0f} GB" if kilobytes.isdigit() else kilobytes


def facts(database: Database) -> list[list[str]]:
    server, extension = database.rows("common/versions.sql")[0]
    rows = [
        ["processor", _first_match("/proc/cpuinfo", r"^model name\s*: (.*)$")],
        ["cores", str(os.cpu_count())],
        ["memory", _memory()],
        ["kernel", platform.release()],
        ["PostgreSQL", server],
        ["pgbench", _output(pgbench_program(), "--version")],
        ["Turnstile", f"{extension or 'unknown'}, commit {_output('git', 'describe', '--always', '--dirty')}"],
    ]
    return rows + [[name, value] for name, value in database.rows("common/environment.sql")]


def describe(report: Report, database: Database) -> None:
    report.heading("Measured on", level=3)
    report.table(["what", "value"], facts(database))
