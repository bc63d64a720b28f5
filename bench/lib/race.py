"""Contenders that take turns, slice by slice, on one cluster: A B C, A B C, …"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from lib import pgbench
from lib.pgbench import Load, LoadFailed
from lib.queues import Queue

WARM_UP_SECONDS = 1
MOST_REFILLS = 6


class RanDry(Exception):
    pass


@dataclass(frozen=True)
class Aim:
    """`against` names the contender that a ratio is taken to; None: an absolute figure."""

    at_least: float
    against: str | None = None


@dataclass(frozen=True)
class Contender:
    name: str
    queue: Queue
    load: Load
    aim: Aim | None = None


@dataclass(frozen=True)
class Slice:
    jobs_per_second: float
    statement_ms: list[float]


@dataclass(frozen=True)
class Race:
    """`expected_rate` sizes the backlog; 0: the load only adds jobs, and needs none."""

    contenders: list[Contender]
    counted: Callable[[Queue], int]
    expected_rate: int

    def run(self, rounds: int, seconds: int) -> dict[str, list[Slice]]:
        slices = {contender.name: [] for contender in self.contenders}
        backlog = self.expected_rate * seconds
        for contender in self.contenders:
            backlog, _ = self._slice_with_enough(contender, backlog, WARM_UP_SECONDS)
        for _ in range(rounds):
            for contender in self.contenders:
                backlog, done = self._slice_with_enough(contender, backlog, seconds)
                slices[contender.name].append(done)
        return slices

    def _slice_with_enough(self, contender: Contender, backlog: int, seconds: int) -> tuple[int, Slice]:
        """A slice that ran dry is thrown away and run again with twice the backlog."""
        for _ in range(MOST_REFILLS):
            try:
                return backlog, self._slice(contender, backlog, seconds)
            except RanDry:
                backlog *= 2
        raise RanDry(f"{contender.name}: even {backlog} jobs are not enough")

    def _slice(self, contender: Contender, backlog: int, seconds: int) -> Slice:
        queue = contender.queue
        queue.fill_to(backlog)
        queue.vacuum()
        queue.database.checkpoint()
        before = self.counted(queue)
        try:
            outcome = pgbench.run(contender.load, seconds)
        except LoadFailed:
            if queue.waiting() > 0:
                raise
            queue.settle()
            raise RanDry from None
        jobs = self.counted(queue) - before
        queue.settle()
        if queue.waiting() == 0:
            raise RanDry
        # What this slice left behind must not set off autovacuum in the next contender's.
        queue.vacuum()
        return Slice(jobs / outcome.seconds, outcome.statement_ms)


def ratios(figures: list[float], reference: list[float]) -> list[float]:
    """Round by round, so that what slows the machine for a while slows both sides."""
    return [figure / base for figure, base in zip(figures, reference, strict=True)]


def median_and_range(values: list[float], shown: Callable[[float], str]) -> str:
    return f"{shown(median(values))} ({shown(min(values))} to {shown(max(values))})"
