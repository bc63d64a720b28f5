"""What a client asked the server, and what came of it: one file a client, a line before each call and one after it.

A line is written at once, so that a killed client leaves a call without an end, which is unknown.
"""

import os
import time
from pathlib import Path

import orjson

# What a client does for itself, and to begin and end transactions: calls, but no operations of the queue.
CONTROL = {
    "connect", "disconnect", "set", "wait_for_job", "left behind", "running", "left", "begin", "commit", "rollback",
    "prepare", "commit prepared", "savepoint", "release savepoint", "rollback to savepoint", "prediction", "stuck",
}  # fmt: skip
_LONGEST_LINE = 1 << 16


class Log:
    """Numbers the calls of one client, and counts those that ask something of the queue.

    A client that takes over from a killed one of its name goes on numbering.
    """

    def __init__(self, directory: Path, client: str, operations: int = 0):
        path = directory / f"{client}.calls"
        self.number = _last_number(path) if path.exists() else 0
        self.operations = operations
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def invoked(self, verb: str, arguments: dict) -> None:
        self.number += 1
        self.operations += verb not in CONTROL
        self._write({"n": self.number, "verb": verb, "arguments": arguments})

    def ended(self, outcome: str, **what) -> None:
        self._write({"n": self.number, "outcome": outcome, **what})

    def _write(self, entry: dict) -> None:
        entry["at"] = time.monotonic()
        os.write(self._file, orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))


def _last_number(path: Path) -> int:
    """The number of the last call, from the end of a log that may be long."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LONGEST_LINE))
        lines = file.read().splitlines()
    return orjson.loads(lines[-1])["n"] if lines else 0
