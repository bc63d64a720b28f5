"""What a worker is told. All defaults are here."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import Optional

MOST_QUEUES = 32


def default_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


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
    """How long a handler may go on after its run was told to stop. Then the worker does not wait for it any more."""

    def __post_init__(self) -> None:
        if not self.queues or len(self.queues) > MOST_QUEUES:
            raise ValueError(f"a worker needs 1 to {MOST_QUEUES} queues; * stands for all")
        if self.concurrency < 1:
            raise ValueError("the concurrency must be at least 1")
        for name in ("heartbeat", "wait"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.lease is not None and self.lease <= 0:
            raise ValueError("the lease must be more than 0")
