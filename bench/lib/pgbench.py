"""Runs pgbench with a load and reads what it reports."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from lib.project import pgbench_program
from lib.queues import payload

THREADS = os.cpu_count() or 1
SEED = "1"
NONE_DONE = "no transaction was done"
# Who flushes the log for all waits so much longer, as on a disk that is slower than this one.
SLOW_DISK_US = 500
SLOW_DISK = {"synchronous_commit": "on", "commit_delay": str(SLOW_DISK_US), "commit_siblings": "0"}


class LoadFailed(Exception):
    pass


@dataclass(frozen=True)
class Load:
    """`scripts` maps each script file to its weight; the variables are there in each of them."""

    scripts: dict[Path, int]
    clients: int
    variables: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    time_each_statement: bool = False
    database: str | None = None
    connects_each_time: bool = False

    def arguments(self) -> list[str]:
        found = ["--no-vacuum", "--failures-detailed", f"--random-seed={SEED}"]
        found += ["--protocol=extended", "--connect"] if self.connects_each_time else ["--protocol=prepared"]
        found += [f"--client={self.clients}", f"--jobs={min(self.clients, THREADS)}"]
        found += [f"--file={script}@{weight}" for script, weight in self.scripts.items()]
        variables = {"payload": payload()} | self.variables
        found += [f"--define={name}={value}" for name, value in variables.items()]
        if self.time_each_statement:
            found.append("--report-per-command")
        return found

    def environment(self) -> dict[str, str]:
        options = [os.environ.get("PGOPTIONS", "")] + [f"-c {name}={value}" for name, value in self.settings.items()]
        found = os.environ | {"PGOPTIONS": " ".join(options)}
        return found if self.database is None else found | {"PGDATABASE": self.database}


@dataclass(frozen=True)
class Outcome:
    transactions: int
    seconds: float
    statement_ms: list[float]


class RunningLoad:
    def __init__(self, load: Load, limits: list[str]):
        command = [pgbench_program(), *load.arguments(), *limits]
        self.process = subprocess.Popen(
            command, env=load.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, within: float | None = None) -> Outcome:
        try:
            report, errors = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise LoadFailed(f"pgbench was not done after {within:.0f} s") from None
        if self.process.returncode != 0:
            raise LoadFailed(errors)
        return read_report(report)


def _count(report: str, what: str) -> int:
    return int(re.search(rf"number of {what}: (\d+)", report)[1])


def read_report(report: str) -> Outcome:
    transactions = _count(report, "transactions actually processed")
    if _count(report, "failed transactions"):
        kinds = {kind: _count(report, kind) for kind in ("deadlock failures", "serialization failures")}
        found = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
        raise LoadFailed(f"{found}, beside {transactions:,} transactions without error")
    if not transactions:
        raise LoadFailed(NONE_DONE)
    rate = float(re.search(r"^tps = ([\d.]+)", report, re.MULTILINE)[1])
    commands = re.findall(r"^ +([\d.]+) +\d+ +(.*)$", report, re.MULTILINE)
    statement_ms = [float(ms) for ms, text in commands if not text.startswith("\\")]
    return Outcome(transactions, transactions / rate, statement_ms)


def start(load: Load, seconds: int, transactions_per_second: float | None = None) -> RunningLoad:
    limits = [f"--time={seconds}"]
    if transactions_per_second is not None:
        limits.append(f"--rate={transactions_per_second:.3f}")
    return RunningLoad(load, limits)


def run(load: Load, seconds: int) -> Outcome:
    return start(load, seconds).finish()


def run_transactions(load: Load, transactions_per_client: int) -> Outcome:
    return RunningLoad(load, [f"--transactions={transactions_per_client}"]).finish()
