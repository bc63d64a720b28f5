"""What producers and workers were told, and what of it has to be true of the server that is left."""

import threading
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Told:
    """One answer: of which job, when the log had come how far at the latest, and after how many promotions."""

    token: str
    lsn: int
    promotions: int


UNKNOWN = 1 << 64


def lsn(text: str | None) -> int:
    if text is None:
        return UNKNOWN
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


@dataclass
class Ledger:
    """In a synchronous pair every answer holds; in another one those that the standby had received."""

    is_synchronous: bool
    promotions: int = 0
    # Where each promotion left the history of the server before.
    ends: list[int] = field(default_factory=list)
    enqueued: list[Told] = field(default_factory=list)
    completed: list[Told] = field(default_factory=list)
    claimed: dict[tuple[int, int], list[Told]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_enqueued(self, told: Told) -> None:
        with self._lock:
            self.enqueued.append(told)

    def note_claimed(self, run: tuple[int, int], told: Told) -> None:
        with self._lock:
            self.claimed[run].append(told)

    def note_completed(self, told: Told) -> None:
        with self._lock:
            self.completed.append(told)

    def note_refused(self, sqlstate: str) -> None:
        with self._lock:
            self.refused[sqlstate] += 1

    def promoted(self, end: str) -> None:
        with self._lock:
            self.ends.append(lsn(end))
            self.promotions += 1

    def may_be_lost(self, told: Told) -> bool:
        """Whether the standby may not have had it: the log had gone on beyond where it was promoted."""
        ends = self.ends[told.promotions :][:1]
        return not self.is_synchronous and any(told.lsn > end for end in ends)

    # ---- What must be true ------------------------------------------------------------------------

    def lost(self, there: set[str], answers: list[Told]) -> list[Told]:
        return [told for told in answers if told.token not in there and not self.may_be_lost(told)]

    def missing(self, there: set[str], answers: list[Told]) -> list[Told]:
        return [told for told in answers if told.token not in there]

    def given_twice(self) -> dict:
        """Runs that were given to two workers although the claim of the first cannot have been lost."""
        twice = {run: given for run, given in self.claimed.items() if len(given) > 1}
        return {run: given for run, given in twice.items() if not all(map(self.may_be_lost, given[:-1]))}
