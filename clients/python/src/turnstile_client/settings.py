"""What a worker is told, and what it decides by itself. All defaults are here."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional, TypedDict

if TYPE_CHECKING:
    from typing import Any

MOST_QUEUES = 32
MOST_AT_ONCE = 100_000

# ---- What is no setting. Times are in seconds.

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Between attempts that fail: each about twice as long as the one before, and never the same for all workers."""
LONGEST_LOOK = 1.0
"""A loop looks again after this time, whether or not it was told of anything."""
PATIENCE, LONGEST_PATIENCE = 0.25, 0.005
"""A claim waits for more runs to end: this part of the time that the last one took, and never longer than that."""
VAIN_WAKE_UPS, AFTER_VAIN_WAKE_UPS = 3, 0.1
"""A sleeper may be woken for a job that another worker gets. After so many in a row it rests."""
PROGRESS_PAUSE = 0.25
"""Between two messages of how far runs are."""
LAST_ANSWER = 5.0
"""A claim that is under way when runs are told to stop may take so long. Then it is cancelled."""
LAST_ENDS = 15.0
"""How long the last ends may take to reach the server. What it does not hear of comes back when its lease is over."""
MOST_REFUSALS = 20
"""An end that the server does not take is told again so often, which takes about a minute. Then the run fails instead."""
MOST_ENDS, MOST_BYTES = 1000, 8 * 1024 * 1024
"""Ends of one call, and bytes of their results. A larger one goes alone."""
LONGEST_ERROR = 4000
"""Characters of an error that the server keeps. Of a longer one the middle is left out."""
LONGEST_CLASS = 255
"""Bytes of the class of an error. Of a longer one the end is left out."""
NO_LEASE = 300.0
"""A run without a lease by the server's word counts as alive so long."""
CONNECTION: dict[str, Any] = {
    "client_encoding": "UTF8", "connect_timeout": 10,
    "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 45_000,
}  # fmt: skip
"""Of a connection string that says nothing else: a server that has vanished is noticed."""


def default_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


class Options(TypedDict, total=False):
    """The arguments of a worker that become its settings."""

    queues: Sequence[str]
    concurrency: int
    name: str
    lease: Optional[float]
    heartbeat: float
    wait: float
    drain: float
    grace: float


@dataclass(frozen=True)
class Settings:
    """Times are in seconds."""

    queues: tuple[str, ...] = ("default",)
    """Claimed from in this order: the second where the first has too few jobs. `*` stands for all."""
    concurrency: int = 8
    """How many jobs run at once."""
    name: str = field(default_factory=default_name)
    """Kept in job.worker."""
    lease: Optional[float] = None
    """How long a run counts as alive without a heartbeat. None: what its queue says."""
    heartbeat: float = 15
    """The longest time between heartbeats, from which a run also learns that it was cancelled. A third of the lease if that is shorter."""
    wait: float = 300
    """How long the worker sleeps in the server at a stretch while there is no work."""
    drain: float = 30
    """How long runs may go on after a soft stop, before they are told to stop."""
    grace: float = 10
    """How long a handler may go on after its run was told to stop. Then a coroutine is cancelled, and at the end of a worker
    nothing waits for a thread any more."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.queues) <= MOST_QUEUES:
            raise ValueError(f"a worker needs 1 to {MOST_QUEUES} queues; * stands for all")
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            raise ValueError(f"the concurrency must be between 1 and {MOST_AT_ONCE}")
        for name in ("heartbeat", "wait"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0")
        for name in ("drain", "grace"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be 0 or more")
        if self.lease is not None and not self.lease > 0:
            raise ValueError("the lease must be more than 0")

    @classmethod
    def of(cls, options: Options) -> Settings:
        given: dict[str, Any] = dict(options)
        queues = given.get("queues", cls.queues)
        if isinstance(queues, str):
            raise ValueError("queues must be a list of names")
        return cls(**{**given, "queues": tuple(queues)})
