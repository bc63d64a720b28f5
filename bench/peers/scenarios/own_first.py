"""Contenders against themselves: a small and a large case of each take turns, and the ratio of a round counts."""

from collections.abc import Callable
from time import monotonic

from peers.arena import Database
from peers.budget import Share
from peers.contender import Contender
from peers.figures import Figures, Point
from peers.run import OUT_OF_TIME, Run
from peers.slices import Work, Worked, script_of

SMALL, LARGE = "_small", "_large"
# To make a case takes longer than a round of it, so there is more than one even if that takes too long.
LEAST_ROUNDS = 2
JOBS_A_SECOND = 4_000

# Brings a fresh database into the case that the point stands for.
Prepare = Callable[[Database, Point], None]


class Pair:
    """The contender's first point, kept for all others, and the database of the point at hand."""

    def __init__(self, run: Run, contender: Contender, variant: str | None, prepare: Prepare, clients: int):
        self.run = run
        self.contender = contender
        self.variant = variant
        self.prepare = prepare
        self.work = Work("work", clients, 1, {"synchronous_commit": "off"}, run.seconds)
        self.small: Database | None = None
        self.large: Database | None = None

    def open(self, first: Point, point: Point) -> None:
        if self.small is None:
            self.small = self._make(SMALL, first)
        self.close_large()
        self.large = self._make(LARGE, point)

    def figures(self) -> tuple[float, float]:
        """The rates at the point at hand, and at the first in the same round."""
        first = self._rate(self.small)
        return self._rate(self.large), first

    def close_large(self) -> None:
        if self.large:
            self._drop(self.large)
            self.large = None

    def close(self) -> None:
        self.close_large()
        if self.small:
            self._drop(self.small)

    def _make(self, suffix: str, point: Point) -> Database:
        database = self.run.arena.database(self.contender, self.variant, suffix)
        try:
            self.prepare(database, point)
            database.fill_to(self._backlog(database))
            database.vacuum()
            # Every limit is read and every cache is filled before anything counts.
            self._rate(database)
        except BaseException:
            self._drop(database)
            raise
        return database

    def _backlog(self, database: Database) -> int:
        return max(database.backlog, JOBS_A_SECOND * self.run.seconds)

    def _rate(self, database: Database) -> float:
        # Large cases must stay as large as they are, so what a slice takes is put back behind it.
        worked = Worked(self._backlog(database))
        return worked.rate(database, self.work, vacuum=False)

    def _drop(self, database: Database) -> None:
        database.close()
        self.run.arena.drop(database.name)


def measure_pairs(
    run: Run, figures: Figures, prepare: Prepare, variant: str | None = None, clients: int = 8, together: bool = True
) -> None:
    """`together`: the contenders take turns at each point; else one after the other goes through all points."""
    run.note_lacks(figures, lambda contender, _: script_of(contender, Work("work"), variant))
    first, *others = figures.points
    pairs = [Pair(run, contender, variant, prepare, clients) for contender in run.contenders]
    groups = [pairs] if together else [[pair] for pair in pairs]
    for number, group in enumerate(groups):
        ends = run.share.begun + run.share.seconds * (number + 1) / len(groups)
        for at, point in enumerate(others):
            left = (ends - monotonic()) / (len(others) - at)
            _measure_point(run, figures, group, first, point, Share(max(0.0, left)))
        for pair in group:
            run.attempt(figures, pair.contender, [], pair.close)


def _measure_point(run: Run, figures: Figures, group: list[Pair], first: Point, point: Point, share: Share) -> None:
    for pair in group:
        if run.share.is_used_up():
            figures.skip(pair.contender.name, point.name, OUT_OF_TIME)
        else:
            points = [point] if pair.small else [first, point]
            run.attempt(figures, pair.contender, points, lambda pair=pair: pair.open(first, point))
    for _ in share.rounds(run.most_rounds, LEAST_ROUNDS):
        for pair in group:
            if not figures.has_failed(pair.contender.name, point.name):
                run.attempt(figures, pair.contender, [point], lambda pair=pair: _add(figures, pair, first, point))
    for pair in group:
        run.attempt(figures, pair.contender, [point], pair.close_large)


def _add(figures: Figures, pair: Pair, first: Point, point: Point) -> None:
    rate, own_first = pair.figures()
    figures.add(pair.contender.name, first.name, own_first)
    figures.add(pair.contender.name, point.name, rate, own_first)
