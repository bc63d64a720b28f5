"""What a scenario is given, and the ways to take turns that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import psycopg

from lib.pgbench import LoadFailed
from peers.arena import Arena, Database, Unable
from peers.budget import Share
from peers.contender import Contender
from peers.figures import Figures, Point
from peers.slices import Unlike, Work, reason, script_of

TROUBLE = (Unable, LoadFailed, psycopg.Error, OSError, TimeoutError, ValueError)
OUT_OF_TIME = "not measured: out of time"


def refuse_without(variant: str) -> Callable[[Contender, Point], None]:
    def check(contender: Contender, _: Point) -> None:
        if not contender.has(variant):
            raise Unlike(contender.why_not(variant))

    return check


@dataclass(frozen=True)
class Scenario:
    key: str
    weight: float
    measure: Callable[["Run"], Figures]
    # None: all that do not name their scenarios themselves.
    takes_part: tuple[str, ...] | None = None

    def admits(self, contender: Contender) -> bool:
        named = self.takes_part is None or contender.name in self.takes_part
        return named and contender.is_in(self.key)


@dataclass
class Run:
    arena: Arena
    contenders: list[Contender]
    share: Share
    quick: bool
    seconds: int
    most_rounds: int

    def attempt(self, figures: Figures, contender: Contender, points: list[Point], step: Callable[[], None]) -> None:
        """Whatever goes wrong for one contender is its figure; the others go on."""
        try:
            step()
        except Unlike as why:
            for point in points:
                figures.lacks(contender.name, point.name, str(why))
        except TROUBLE as error:
            for point in points:
                figures.fail(contender.name, point.name, reason(error))
            print(f"    {contender.name}: {reason(error)}", flush=True)

    def note_lacks(self, figures: Figures, check: Callable[[Contender, Point], object]) -> None:
        """Before anything runs: `check` tells what a contender has nothing for."""
        for contender in self.contenders:
            for point in figures.points:
                self.attempt(
                    figures, contender, [point], lambda contender=contender, point=point: check(contender, point)
                )
        self.contenders = [each for each in self.contenders if not figures.lacks_all(each.name)]

    def databases(self, figures: Figures, variant: str | None = None) -> dict[str, Database]:
        """A fresh database for each contender that can be installed."""
        found: dict[str, Database] = {}

        def make(contender: Contender) -> None:
            found[contender.name] = self.arena.database(contender, variant)

        for contender in self.contenders:
            self.attempt(figures, contender, figures.points, lambda contender=contender: make(contender))
        return found

    def take_turns(
        self, figures: Figures, work_at: Callable[[Point], Work], measure: Callable[[Database, Work], float]
    ) -> None:
        """A B C at each point, and again, for as many rounds as fit."""
        self.note_lacks(figures, lambda contender, point: script_of(contender, work_at(point)))
        databases = self.databases(figures)
        for number in self.share.rounds(self.most_rounds):
            print(f"    round {number + 1}", flush=True)
            for point in figures.points:
                for contender in self.contenders:
                    turn = partial(self._turn, figures, contender, point, databases.get(contender.name))
                    turn(lambda database, point=point: measure(database, work_at(point)))
        for database in databases.values():
            database.close()
            self.arena.drop(database.name)

    def _turn(self, figures: Figures, contender: Contender, point: Point, database: Database | None, measure) -> None:
        if figures.has_failed(contender.name, point.name):
            return
        if self.share.is_used_up():
            figures.skip(contender.name, point.name, OUT_OF_TIME)
            return
        self.attempt(
            figures,
            contender,
            [point],
            lambda: figures.add(contender.name, point.name, measure(database)),
        )
