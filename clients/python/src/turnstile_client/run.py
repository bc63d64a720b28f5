"""A run of a job, as its handler sees it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Optional

RunKey = tuple[int, int]
Loads = Callable[[str], Any]

log = logging.getLogger("turnstile")


@dataclass(frozen=True)
class Job:
    """The columns of turnstile.claimed_job. JSON is read when it is asked for."""

    loads: Loads = dataclasses.field(repr=False, compare=False)
    id: int
    attempt: int
    queue: str
    kind: str
    payload_text: str
    priority: int
    tenant: Optional[str]
    account: Optional[str]
    session: Optional[str]
    max_attempts: int
    lease_expires_at: Optional[datetime]
    created_at: datetime
    metadata_text: Optional[str]
    children_text: Optional[str]
    attempts_left: int
    """How many attempts may follow if this one fails. 0: the last one."""

    @classmethod
    def of(cls, columns: Sequence[Any], loads: Loads = json.loads) -> Job:
        """Of what statements.JOB selects."""
        return cls(loads, *columns)

    @property
    def key(self) -> RunKey:
        return self.id, self.attempt

    @functools.cached_property
    def payload(self) -> Any:
        """What the producer passed."""
        return self.loads(self.payload_text)

    @functools.cached_property
    def metadata(self) -> Any:
        """What the producer passed as metadata, if anything."""
        return None if self.metadata_text is None else self.loads(self.metadata_text)

    @functools.cached_property
    def children(self) -> Optional[dict[str, int]]:
        """How its children have ended: {completed, discarded, cancelled}. None: it had none so far."""
        return None if self.children_text is None else json.loads(self.children_text)

    def with_children(self, children: dict[str, int]) -> Job:
        return dataclasses.replace(self, children_text=json.dumps(children))


class StopReason(enum.Enum):
    CANCELLED = "cancelled"
    """The job was cancelled: the run should raise anything, or complete if it is nearly done."""
    LOST = "lost"
    """The lease is over, or another run has begun: whatever the handler does counts no more."""
    SHUTDOWN = "shutdown"
    """The worker stops: the handler should raise anything, or end soon. What it raises gives the job back."""


class Stopped(Exception):
    """Raised by Run.check() when the run should stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Stop:
    """A request to stop. The first reason counts."""

    def __init__(self) -> None:
        self.reason: Optional[StopReason] = None
        # Made for those that wait: most runs end before anybody does.
        self._asked: Optional[threading.Event] = None
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def ask(self, reason: StopReason) -> bool:
        """Whether it is the first request."""
        with self._lock:
            if self.reason is not None:
                return False
            self.reason = reason
            listeners, self._listeners = self._listeners, []
            if self._asked is not None:
                self._asked.set()
        for listener in listeners:
            _call(listener)
        return True

    def wait(self, seconds: float) -> bool:
        with self._lock:
            if self.reason is not None:
                return True
            asked = self._asked = self._asked or threading.Event()
        return asked.wait(seconds)

    def listen(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if self.reason is None:
                self._listeners.append(listener)
                return
        _call(listener)


def _call(listener: Callable[[], None]) -> None:
    try:
        listener()
    except Exception:
        log.exception("what a handler wanted to be called when its run should stop has failed")


Progress = Callable[[RunKey, float, Optional[float], Optional[str]], None]


class Run:
    """What a handler gets."""

    def __init__(self, job: Job, progress: Progress, stop: Optional[Stop] = None) -> None:
        self.job = job
        self._stop = stop or Stop()
        self._progress = progress

    @property
    def id(self) -> int:
        return self.job.id

    @property
    def kind(self) -> str:
        return self.job.kind

    @property
    def payload(self) -> Any:
        return self.job.payload

    @property
    def stopped(self) -> Optional[StopReason]:
        """Why the run should stop; None: it may go on."""
        return self._stop.reason

    def wait_for_stop(self, seconds: float) -> bool:
        """Sleeps up to so long, and returns at once when the run should stop: whether it should."""
        return self._stop.wait(seconds)

    def check(self) -> None:
        """Raises Stopped if the run should stop."""
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def progress(self, done: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Shows others how far the run is. It returns at once; the last of several in a row is sent."""
        self._progress(self.job.key, done, total, message)

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Has it called once when the run should stop, from another thread."""
        self._stop.listen(listener)

    def stop(self, reason: StopReason) -> bool:
        """Asks the run to stop. Whether nothing has asked for it before."""
        return self._stop.ask(reason)

    def again(self, job: Job) -> Run:
        """For a handler that has to go on with it."""
        return type(self)(job, self._progress, self._stop)
