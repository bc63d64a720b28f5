"""What goes wrong on purpose while clients work: crashes of the server, and lesser disturbances in between."""

import contextlib
import os
import random
import signal
import time

import psycopg

from faults.cluster import crash_by_killing

_BACKENDS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'lookout'"
)
# The least that may be, with room for fewer lanes than there are; a little more; the default.
_LIMITS = ["256kB", "320kB", "1GB"]
# From one disturbance to the next, on average. What each costs is a new connection and its plans.
OPERATIONS_BETWEEN = 400


class Disturber:
    def __init__(self, cluster, lookout, crew, seed: int, changes_memory: bool):
        self.cluster, self.lookout, self.crew = cluster, lookout, crew
        self.chance = random.Random(f"{seed} disturber")
        self.done: dict[str, int] = {}
        self._next = 0.0
        # When each crash began, and when the server was back.
        self.crashed: list[list[float]] = []
        self.crashes = [self.kill_postmaster, self.stop_at_once, self.kill_backend]
        self.lesser = [*[self.cancel] * 3, self.terminate, self.kill_worker, self.pause_worker]
        if changes_memory:
            self.lesser += [self.change_memory] * 2

    def crash(self) -> None:
        """The next kind of crash, in turn; returns when the server takes connections again."""
        crash = self.crashes[sum(self.done.get(way.__name__, 0) for way in self.crashes) % len(self.crashes)]
        began = time.monotonic()
        self._do(crash)
        self.crashed.append([began, time.monotonic()])

    def disturb_at_times(self, operations: int) -> None:
        """Lets something lesser go wrong after so many operations, more or less; each costs a client its connection at most."""
        if operations >= self._next:
            self._do(self.chance.choice(self.lesser))
            self._next = operations + self.chance.expovariate(1 / OPERATIONS_BETWEEN)

    def _do(self, way) -> None:
        with contextlib.suppress(psycopg.OperationalError, ProcessLookupError):
            way()
        self.done[way.__name__] = self.done.get(way.__name__, 0) + 1

    def kill_postmaster(self) -> None:
        os.kill(self.cluster.pid, signal.SIGKILL)
        self.cluster.restart(immediate=True)

    def stop_at_once(self) -> None:
        self.cluster.restart(immediate=True)

    def kill_backend(self) -> None:
        """The server ends all other backends too, and recovers."""
        crash_by_killing(self._backend())

    def cancel(self) -> None:
        self.lookout.ask("SELECT pg_cancel_backend(%s)", [self._backend()])

    def terminate(self) -> None:
        self.lookout.ask("SELECT pg_terminate_backend(%s)", [self._backend()])

    def kill_worker(self) -> None:
        self.crew.kill(self.chance.choice(self.crew.workers()))

    def pause_worker(self) -> None:
        """Long enough for the shorter leases to end."""
        self.crew.pause(self.chance.choice(self.crew.workers()), 2.5)

    def change_memory(self) -> None:
        """The scheduler's memory grows, is refused, or gives back what it has; the limit outlives crashes."""
        self.lookout.ask(f"ALTER SYSTEM SET turnstile.max_memory = '{self.chance.choice(_LIMITS)}'")
        self.lookout.ask("SELECT pg_reload_conf()")

    def _backend(self) -> int:
        return self.chance.choice(self.lookout.ask(_BACKENDS))
