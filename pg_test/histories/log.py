"""What a client asked the server, and what came of it: one file a client, a line before each call and one after it.

A line is written at once, so that a killed client leaves a call without an end, which is unknown.
"""

import json
import os
import time
from pathlib import Path


class Log:
    """Numbers the calls of one client. A client that takes over from a killed one of its name goes on numbering."""

    def __init__(self, directory: Path, client: str):
        path = directory / f"{client}.calls"
        self.number = sum(1 for line in path.read_bytes().splitlines() if b'"verb"' in line) if path.exists() else 0
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def invoked(self, verb: str, arguments: dict) -> None:
        self.number += 1
        self._write({"n": self.number, "verb": verb, "arguments": arguments})

    def ended(self, outcome: str, **what) -> None:
        self._write({"n": self.number, "outcome": outcome, **what})

    def _write(self, entry: dict) -> None:
        entry["at"] = time.monotonic()
        os.write(self._file, json.dumps(entry, separators=(",", ":")).encode() + b"\n")
