"""The own worker of a contender as a process of its own."""

import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic

from peers.arena import Database, Unable, command, last_line
from peers.contender import Contender
from peers.slices import Unlike

START_SECONDS = 30
STOP_SECONDS = 5
THREADS = 4


def program(contender: Contender) -> Path:
    found = contender.file("worker.py") or contender.file("worker.mjs")
    if found is None:
        raise Unlike(contender.why_not("worker"))
    return found


class Worker:
    def __init__(self, database: Database, stamps: bool):
        self.errors = TemporaryFile("w+")
        own = {"CONCURRENCY": str(THREADS), "STAMP": "1" if stamps else "0"}
        self.process = subprocess.Popen(
            command(program(database.contender)),
            env=database.contender.environment(database.name) | own,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
        )
        self.lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()
        if self.next_line(START_SECONDS) != "ready":
            self.stop()
            raise Unable(f"its worker did not start: {self.complaint()}")

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def next_line(self, within: float) -> str | None:
        try:
            return self.lines.get(timeout=within)
        except Empty:
            return None

    def began(self, number: int, within: float) -> float | None:
        """When the handler of that job began, on this machine's clock."""
        ends = monotonic() + within
        while (left := ends - monotonic()) > 0:
            line = self.next_line(left)
            if line and line.split()[0] == str(number):
                return float(line.split()[1])
        return None

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def complaint(self) -> str:
        self.errors.seek(0)
        return last_line(self.errors.read())

    def stop(self) -> None:
        """Ends it and whatever it has started: they are a process group of their own."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(STOP_SECONDS)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


@contextmanager
def running(database: Database, stamps: bool):
    worker = Worker(database, stamps)
    try:
        yield worker
    finally:
        worker.stop()
