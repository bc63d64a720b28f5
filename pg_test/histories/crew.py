"""The processes of a history, and what they share with the one that directs them."""

import contextlib
import gc
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from histories.administrator import Administrator
from histories.producer import Producer
from histories.worker import Worker

ROLES = {"producer": (Producer, 4), "worker": (Worker, 14), "administrator": (Administrator, 2)}
# Seconds.
ANSWERED = 0.05
# Copying the parent keeps what it has imported; it has no connection while it makes children.
_CONTEXT = multiprocessing.get_context("fork")


@dataclass
class Station:
    """What the clients share: where to write, whether to go on, how much is done."""

    directory: Path
    dbname: str
    seed: int
    leisure: float = 0.0
    names: list[str] = field(default_factory=lambda: [f"{r}{n}" for r, (_, number) in ROLES.items() for n in range(number)])

    def __post_init__(self):
        self.going = _CONTEXT.Value("b", 1, lock=False)
        self.full = _CONTEXT.Value("b", 0, lock=False)
        self._counts = _CONTEXT.Array("l", len(self.names), lock=False)

    def count(self, client) -> None:
        self._counts[self.names.index(client.name)] = client.log.operations

    def counted(self, name: str) -> int:
        """What a client of this name has done so far."""
        return self._counts[self.names.index(name)] if name in self.names else 0

    @property
    def operations(self) -> int:
        return sum(self._counts)

    def is_full(self) -> bool:
        """Whether more jobs wait than the workers should be given."""
        return bool(self.full.value)

    def rest(self, chance, most: float = 2) -> None:
        time.sleep(chance.random() * most / 1000)


class Crew:
    """Starts the clients, and whoever was killed again."""

    def __init__(self, station: Station):
        self.station = station
        self.processes = {name: self._start(name, 0) for name in station.names}
        self._lives = dict.fromkeys(station.names, 0)

    def _start(self, name: str, life: int):
        process = _CONTEXT.Process(target=_work, args=(self.station, name, life), name=name)
        process.start()
        return process

    def workers(self) -> list[str]:
        return [name for name in self.station.names if name.startswith("worker")]

    def kill(self, name: str) -> None:
        """A worker dies in the middle of whatever it does; another takes its name and its runs over."""
        self.processes[name].kill()
        self.processes[name].join()
        self._lives[name] += 1
        self.processes[name] = self._start(name, self._lives[name])

    def pause(self, name: str, seconds: float) -> None:
        """A worker that stands still, with whatever it holds."""
        pid = self.processes[name].pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def standing_still(self):
        """Nobody asks for anything; what was asked for is answered soon."""
        self._signal(signal.SIGSTOP)
        time.sleep(ANSWERED)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for process in self.processes.values():
            os.kill(process.pid, number)

    def failed(self) -> list[str]:
        return [name for name, process in self.processes.items() if process.exitcode not in (None, 0)]

    def finish(self) -> None:
        self.station.going.value = 0
        for process in self.processes.values():
            process.join()

    def abandon(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.join()


def _work(station: Station, name: str, life: int) -> None:
    status = 1
    try:
        # No cycles worth the collector's time, and the parent's objects stay shared.
        gc.freeze()
        gc.set_threshold(50_000)
        role = ROLES[name.rstrip("0123456789")][0]
        role(station, name, f"{station.seed} {life}").work()
        status = 0
    finally:
        if status:
            import traceback

            (station.directory / f"{name}.broken").write_text(traceback.format_exc())
        # Without the parent's exit handlers.
        os._exit(status)
