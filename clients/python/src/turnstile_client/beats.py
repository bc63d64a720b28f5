"""When a run says that it is alive, and when it counts as dead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Beats:
    pause: float
    next_beat: float
    lease_ends: float
    """By the clock of this machine, and rather too early."""

    @classmethod
    def of(cls, lease: float, longest_pause: float, asked: float) -> Beats:
        """Three times in a lease, and often enough to hear of a cancellation."""
        pause = min(lease / 3, longest_pause)
        return cls(pause, asked + pause, asked + lease)

    def take(self, now: float) -> bool:
        """Whether it is due or nearly so, which saves a call."""
        if self.next_beat > now + self.pause / 3:
            return False
        self.next_beat = now + self.pause
        return True
