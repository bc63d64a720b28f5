"""The figures of one scenario: for each contender and point those of each round, or why there are none."""

from dataclasses import dataclass, field

from peers.contender import REFERENCE

OWN_FIRST = "own first point"


@dataclass(frozen=True)
class Point:
    """A column of the table; `at` places it on the axis of the plot."""

    name: str
    at: float | None = None
    unit: str | None = None
    more_is_better: bool = True


@dataclass
class Figures:
    title: str
    unit: str
    points: list[Point]
    axis: str | None = None
    # What ratios are taken to: a contender's figure of the same round, or `OWN_FIRST`.
    against: str = REFERENCE
    settings: list[str] = field(default_factory=list)
    rows: dict[str, dict[str, dict]] = field(default_factory=dict)
    series: dict[str, list] = field(default_factory=dict)

    def add(self, contender: str, point: str, figure: float, own_first: float | None = None) -> None:
        cell = self._cell(contender, point)
        cell.setdefault("rounds", []).append(figure)
        if own_first is not None:
            cell.setdefault("own_first", []).append(own_first)

    def fail(self, contender: str, point: str, error: str) -> None:
        self._cell(contender, point)["failed"] = error

    def lacks(self, contender: str, point: str, why: str) -> None:
        self._cell(contender, point)["lacks"] = why

    def lacks_all(self, contender: str) -> bool:
        return all("lacks" in self._cell(contender, point.name) for point in self.points)

    def skip(self, contender: str, point: str, why: str) -> None:
        """Unless there are figures already."""
        cell = self._cell(contender, point)
        if "rounds" not in cell:
            cell["failed"] = why

    def has_failed(self, contender: str, point: str) -> bool:
        cell = self._cell(contender, point)
        return "failed" in cell or "lacks" in cell

    def _cell(self, contender: str, point: str) -> dict:
        return self.rows.setdefault(contender, {}).setdefault(point, {})

    def as_json(self) -> dict:
        return {
            "title": self.title,
            "unit": self.unit,
            "axis": self.axis,
            "against": self.against,
            "settings": self.settings,
            "points": [vars(point) for point in self.points],
            "rows": self.rows,
            "series": self.series,
        }
