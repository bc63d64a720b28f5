"""What a worker knows and decides, without any input or output: the loops of the thread and of the asyncio worker share it.

1. A run is held from its claim until the server has taken its end, or has said that the run is not ours any more.
2. An end is told until the server has an answer to it. Told twice it does no harm: a run ends once.
3. A run whose lease is over by our own clock is told to stop, whether or not the server can be reached.
"""

from __future__ import annotations

import enum
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Callable, Optional

from turnstile_client import faults, statements
from turnstile_client.beats import Beats
from turnstile_client.ends import Endings
from turnstile_client.outcome import RELEASE, Ending, after_stop
from turnstile_client.run import Job, Loads, Progress, Run, RunKey, StopReason
from turnstile_client.settings import LONGEST_LOOK, NO_LEASE, Settings
from turnstile_client.statements import Rows, Statement


class Loop(enum.Enum):
    """What a change wakes."""

    CLAIMS = enum.auto()
    ENDS = enum.auto()
    LIFE = enum.auto()


@dataclass
class Held:
    run: Run
    lease: float
    beats: Beats
    is_running: bool = True
    stop_asked: Optional[float] = None
    is_abandoned: bool = False


@dataclass
class Core:
    settings: Settings
    loads: Loads = json.loads
    make_run: Callable[[Job, Progress], Run] = Run
    signal: Callable[[Loop], None] = lambda _: None
    held: dict[RunKey, Held] = field(default_factory=dict)
    endings: Endings = field(default_factory=Endings)
    progress: dict[RunKey, tuple[Any, Any, Any]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    running: int = 0
    # How many more jobs could run before the claims are worth waking.
    wanted_room: int = 1
    # The loop that claims has its connection, and the other loop is to have its own.
    has_begun: bool = False
    can_tell: bool = False
    is_draining: bool = False
    is_hard: bool = False
    claims_are_over: bool = False
    is_finished: bool = False
    ends_are_over: bool = False
    fatal: Optional[BaseException] = None

    def failed(self, error: BaseException) -> None:
        """A loop cannot go on, and neither can the worker."""
        if not self.is_finished:
            self.fatal = error
        self.is_draining = True
        self.signal(Loop.LIFE)

    @property
    def is_over(self) -> bool:
        """Nothing is left to tell."""
        return self.is_finished and not self.held

    # ---- claims

    def room(self) -> int:
        """Handlers that are done make room. While the server does not hear of ends it takes no more than twice as many as may run."""
        most = self.settings.concurrency
        return max(0, min(most - self.running, 2 * most - len(self.held)))

    def claim(self, room: int, completed: Optional[Sequence[RunKey]]) -> Statement:
        settings = self.settings
        arguments = {"queues": list(settings.queues), "room": room, "worker": settings.name, "lease": self._lease()}
        if not completed:
            return statements.CLAIM, arguments
        return statements.COMPLETE_AND_CLAIM, {**self.endings.completed(completed), **arguments}

    def sleep(self) -> Statement:
        return statements.SLEEP, {"queues": list(self.settings.queues), "wait": timedelta(seconds=self.settings.wait)}

    def started(self, rows: Rows, asked: float) -> list[Run]:
        """The runs to start. Those that were claimed when the worker had to stop are given back."""
        runs, is_short = [], False
        with self.lock:
            for lease, *columns in rows:
                run = self.make_run(Job.of(columns, self.loads), self._note_progress)
                lease = NO_LEASE if lease is None else max(0.001, lease)
                held = Held(run, lease, Beats.of(lease, self.settings.heartbeat, asked))
                is_short = is_short or held.beats.pause < LONGEST_LOOK
                self.held[run.job.key] = held
                self.running += 1
                runs.append(run)
            if self.is_draining:
                for run in runs:
                    self.ended(run.job.key, Ending(RELEASE))
                return []
        if is_short:
            self.signal(Loop.ENDS)
            self.signal(Loop.LIFE)
        return runs

    # ---- ends

    def ended(self, key: RunKey, ending: Optional[Ending]) -> None:
        """The handler is done. None: there is nothing to say of it."""
        with self.lock:
            held = self.held.get(key)
            if held is None or not held.is_running:
                # It was given back meanwhile.
                return
            held.is_running = False
            self.running -= 1
            self.progress.pop(key, None)
            if ending is None:
                del self.held[key]
            elif not self.endings.add(key, ending):
                self.signal(Loop.ENDS)
            room = self.room()
            if room >= self.wanted_room:
                self.signal(Loop.CLAIMS)
            if self.is_draining and not self.running:
                self.signal(Loop.LIFE)

    def accepted(self, keys: Iterable[RunKey]) -> None:
        with self.lock:
            for key in keys:
                self.held.pop(key, None)
                self.endings.forget(key)
            self.signal(Loop.CLAIMS)

    def goes_on(self, key: RunKey, children: dict[str, int]) -> Optional[Run]:
        """A run that wanted to wait for its children, of which none is live. None: that is no reason to go on."""
        with self.lock:
            self.endings.forget(key)
            held = self.held.get(key)
            if held is None:
                return None
            job = held.run.job
            known = job.children or dict.fromkeys(children, 0)
            if known == children:
                self.endings.instead(key, "the run waits for children, but the job has none, or the run was told already how all have ended")
                return None
            if self.is_draining:
                self.endings.add(key, Ending(RELEASE))
                return None
            held.run, held.is_running = held.run.again(job.with_children(children)), True
            self.running += 1
            return held.run

    def refused(self, key: RunKey, error: BaseException, now: float) -> Optional[tuple[Run, Ending]]:
        """What is gone is gone; what may be taken later is told again; else the run fails. Returns what is news."""
        with self.lock:
            held, ending = self.held.get(key), self.endings.of(key)
            if held is None or ending is None:
                return None
            news = (held.run, ending) if self.endings.is_news(key, faults.described(error)) else None
            if not faults.is_superseded(error, *key) and self.endings.refused(key, error, now):
                return news
            self.accepted([key])
            return held.run, ending

    # ---- signs of life

    def take_beats(self, now: float) -> list[RunKey]:
        """The runs that are due, with those that are nearly so. Everybody locks rows by id."""
        with self.lock:
            if not any(held.beats.next_beat <= now for held in self.held.values()):
                return []
            return sorted(key for key, held in self.held.items() if held.beats.take(now))

    def beat_again(self, keys: Iterable[RunKey]) -> None:
        """The server has not heard of them."""
        with self.lock:
            for key in keys:
                held = self.held.get(key)
                if held is not None and held.run.stopped is not StopReason.LOST:
                    held.beats.next_beat = 0

    def beat(self, keys: list[RunKey]) -> Statement:
        return statements.HEARTBEAT_MANY, {"ids": [job for job, _ in keys], "attempts": [each for _, each in keys], "lease": self._lease()}

    def heard(self, keys: Sequence[RunKey], rows: Rows, asked: float) -> list[tuple[Run, StopReason]]:
        """Returns the runs that stop, and why."""
        reasons = {"lost": StopReason.LOST, "cancel_requested": StopReason.CANCELLED}
        stops = []
        with self.lock:
            for ord, status in rows:
                held = self.held.get(keys[ord - 1])
                if held is None:
                    continue
                if status != "lost":
                    held.beats.lease_ends = asked + held.lease
                if status in reasons:
                    stops.append((held, reasons[status]))
        return self._stop(stops, asked)

    def cancelled(self, key: RunKey, now: float) -> list[tuple[Run, StopReason]]:
        held = self.held.get(key)
        return [] if held is None else self._stop([(held, StopReason.CANCELLED)], now)

    def is_late(self, key: RunKey, now: float) -> bool:
        """Whether the lease is over before the handler begins."""
        held = self.held.get(key)
        return held is not None and held.beats.lease_ends <= now

    def expire(self, now: float) -> list[tuple[Run, StopReason]]:
        with self.lock:
            late = [(held, StopReason.LOST) for held in self.held.values() if held.beats.lease_ends <= now]
        return self._stop(late, now)

    def stop_all(self, now: float) -> list[tuple[Run, StopReason]]:
        with self.lock:
            all_held = [(held, StopReason.SHUTDOWN) for held in self.held.values()]
        return self._stop(all_held, now)

    def overdue(self, now: float) -> list[Run]:
        """Runs that were told to stop and go on after the grace. Each is named once."""
        with self.lock:
            latest = now - self.settings.grace
            found = [
                held for held in self.held.values()
                if held.is_running and not held.is_abandoned and held.stop_asked is not None and held.stop_asked <= latest
            ]  # fmt: skip
            for held in found:
                held.is_abandoned = True
            return [held.run for held in found]

    def is_waited_for(self) -> bool:
        """Whether there are handlers that may still end by themselves."""
        with self.lock:
            return any(held.is_running and not held.is_abandoned for held in self.held.values())

    def leave(self) -> list[Run]:
        """What still runs, for the worker leaves without it."""
        with self.lock:
            left = [held.run for held in self.held.values() if held.is_running]
            for run in left:
                self.ended(run.job.key, after_stop(None, run.stopped or StopReason.SHUTDOWN))
            return left

    def next_life(self, now: float) -> float:
        """Seconds until a lease or a grace is over."""
        with self.lock:
            grace = self.settings.grace
            moments = [held.beats.lease_ends for held in self.held.values() if held.stop_asked is None]
            moments += [held.stop_asked + grace for held in self.held.values() if held.stop_asked is not None and not held.is_abandoned]
            return max(0.0, min([LONGEST_LOOK, *(moment - now for moment in moments)]))

    def next_end(self, now: float) -> float:
        """Seconds until there is something to tell."""
        with self.lock:
            moments = [held.beats.next_beat for held in self.held.values()]
            return max(0.0, min([LONGEST_LOOK, self.endings.next_due(now) - now, *(moment - now for moment in moments)]))

    def take_progress(self) -> list[tuple[RunKey, Statement]]:
        with self.lock:
            found, self.progress = self.progress, {}
        return [
            (key, (statements.PROGRESS, {"id": key[0], "attempt": key[1], "done": done, "total": total, "message": message}))
            for key, (done, total, message) in found.items()
        ]  # fmt: skip

    def _note_progress(self, key: RunKey, done: Any, total: Any, message: Any) -> None:
        with self.lock:
            if key in self.held:
                self.progress[key] = (done, total, message)

    def _stop(self, stops: list[tuple[Held, StopReason]], now: float) -> list[tuple[Run, StopReason]]:
        """Outside of the lock, since handlers may listen. What is done by now is told as it is, and the server decides."""
        asked = []
        for held, reason in stops:
            if held.is_running and held.run.stop(reason):
                held.stop_asked = now
                if reason is StopReason.LOST:
                    # Its job should not wait for a handler that has nothing more to say.
                    held.beats.next_beat = float("inf")
                asked.append((held.run, reason))
        return asked

    def _lease(self) -> Optional[timedelta]:
        return None if self.settings.lease is None else timedelta(seconds=self.settings.lease)
