"""What a client asked the server, and what came of it: one file a client, a line before each call and one after it.

A line is written at once, so that a killed client leaves a call without an end, which is unknown.
"""

import json
import os
import time
from pathlib import Path

# What a client does for itself, and to begin and end transactions: calls, but no operations of the queue.
CONTROL = {
    "connect", "disconnect", "set", "wait_for_job", "left behind", "running", "left", "begin", "commit", "rollback",
    "prepare", "commit prepared", "savepoint", "release savepoint", "rollback to savepoint", "prediction", "stuck",
}  # fmt: skip
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Log:
    """Numbers the calls of one client, and counts those that ask something of the queue.

    A client that takes over from a killed one of its name goes on numbering.
    """

    def __init__(self, directory: Path, client: str):
        path = directory / f"{client}.calls"
        before = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        verbs = [entry["verb"] for entry in before if "verb" in entry]
        self.number = len(verbs)
        self.operations = sum(verb not in CONTROL for verb in verbs)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def invoked(self, verb: str, arguments: dict) -> None:
        self.number += 1
        self.operations += verb not in CONTROL
        self._write({"n": self.number, "verb": verb, "arguments": arguments})

    def ended(self, outcome: str, **what) -> None:
        self._write({"n": self.number, "outcome": outcome, **what})

    def _write(self, entry: dict) -> None:
        entry["at"] = time.monotonic()
        os.write(self._file, _encode(entry).encode() + b"\n")
