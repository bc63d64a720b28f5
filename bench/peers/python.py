"""For the installations and workers of contenders that are Python libraries."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CONCURRENCY = int(os.environ.get("CONCURRENCY", "1"))
STAMPS = os.environ.get("STAMP") == "1"


@dataclass
class Bench:
    """A job, where the library wants a class."""

    number: int
    data: str


def build(name: str, *lines: str) -> None:
    """Leaves a script for the driver."""
    (Path(os.environ["BUILT"]) / name).write_text("\n".join(lines) + "\n")


def statement(text: str, *values: str) -> str:
    """A statement that the library sends, as pgbench takes it: the values are put in the places of $1, $2, …"""
    found = text.strip().rstrip(";")
    for at in range(len(values), 0, -1):
        found = found.replace(f"${at}", values[at - 1])
    return found


def address() -> str:
    return "postgresql:///{PGDATABASE}?host={PGHOST}&port={PGPORT}&user={PGUSER}".format_map(os.environ)


def stamp(number: int) -> None:
    """Tells the driver when a job began, if it wants to know."""
    if STAMPS and number:
        sys.stdout.write(f"{number} {time.time():.6f}\n")
        sys.stdout.flush()


def ready() -> None:
    print("ready", flush=True)


def stop_at_once() -> None:
    """For loops that have nothing to put in order when they end."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
