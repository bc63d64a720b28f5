"""A run of a job, as its handler sees it."""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Callable, Optional

RunKey = tuple[int, int]


@dataclass(frozen=True)
class Job:
    """The columns of turnstile.claimed_job."""

    id: int
    attempt: int
    queue: str
    kind: str
    payload: Any
    priority: int
    tenant: Optional[str]
    account: Optional[str]
    session: Optional[str]
    max_attempts: int
    lease_expires_at: Optional[datetime]
    created_at: datetime
    metadata: Any
    children: Any
    attempts_left: int

    @property
    def key(self) -> RunKey:
        return self.id, self.attempt

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Job:
        return cls(**{field.name: columns[field.name] for field in fields(cls)})


class StopReason(enum.Enum):
    CANCELLED = "cancelled"
    """The job was cancelled: the run should raise anything, or complete if it is nearly done."""
    LOST = "lost"
    """The lease is over, or another run has begun: whatever the handler does counts no more."""
    SHUTDOWN = "shutdown"
    """The worker stops: the handler should raise Release() or Retry(), or end soon."""


class Stopped(Exception):
    """Raised by Run.check() when the run should stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Run:
    """What a handler gets."""

    def __init__(self, job: Job, progress: Callable[[RunKey, Any, Any, Any], None]) -> None:
        self.job = job
        self._asked = threading.Event()
        self._reason: Optional[StopReason] = None
        self._progress = progress
        self._listeners: list[Callable[[], None]] = []

    @property
    def payload(self) -> Any:
        return self.job.payload

    @property
    def stopped(self) -> Optional[StopReason]:
        """Why the run should stop; None: it may go on."""
        return self._reason

    def wait_for_stop(self, seconds: float) -> bool:
        """Sleeps up to so long, and returns at once when the run should stop: whether it should."""
        return self._asked.wait(seconds)

    def check(self) -> None:
        """Raises Stopped if the run should stop."""
        if self._reason is not None:
            raise Stopped(self._reason)

    def progress(self, done: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Shows others how far the run is. Only the last of several in a row is sent."""
        self._progress(self.job.key, done, total, message)

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Has it called when the run should stop, from another thread."""
        self._listeners.append(listener)
        if self._reason is not None:
            listener()

    def stop(self, reason: StopReason) -> None:
        """The first reason counts."""
        if self._reason is None:
            self._reason = reason
            self._asked.set()
            for listener in self._listeners:
                listener()
