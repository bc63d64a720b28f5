"""Prints results as Markdown and writes them to target/bench/NAME.md."""

from collections.abc import Callable
from statistics import median

from lib.project import RESULTS
from lib.race import Contender, median_and_range, ratios


class Report:
    def __init__(self, name: str):
        self.file = RESULTS / f"{name}.md"
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.file.write_text("")

    def line(self, text: str = "") -> None:
        print(text, flush=True)
        with self.file.open("a") as file:
            file.write(text + "\n")

    def heading(self, text: str, level: int = 2) -> None:
        self.line("#" * level + " " + text)
        self.line()

    def table(self, head: list[str], rows: list[list[str]]) -> None:
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
        for row in [head, ["-" * width for width in widths], *rows]:
            self.line("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        self.line()


def whole(value: float) -> str:
    return f"{value:,.0f}"


def as_ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def thousandths(value: float) -> str:
    return f"{value:.3f}"


def _aim(contender: Contender, figures: dict[str, list[float]]) -> str:
    aim = contender.aim
    if aim is None:
        return ""
    own = figures[contender.name]
    if aim.against is None:
        reached, wanted = median(own), whole(aim.at_least)
    else:
        reached = median(ratios(own, figures[aim.against]))
        wanted = f"{as_ratio(aim.at_least)} of {aim.against}"
    return f"{wanted}: {'reached' if reached >= aim.at_least else 'missed'}"


def race_table(
    report: Report,
    contenders: list[Contender],
    figures: dict[str, list[float]],
    unit: str,
    references: list[str],
    shown: Callable[[float], str] = whole,
) -> None:
    """One row a contender: the median, its ratio to each reference, and every round's figure."""
    with_aims = any(contender.aim for contender in contenders)
    head = ["contender", unit, *(f"ratio to {name}" for name in references), *(["aim"] if with_aims else []), "rounds"]
    rows = []
    for contender in contenders:
        own = figures[contender.name]
        row = [contender.name, shown(median(own))]
        row += [median_and_range(ratios(own, figures[name]), as_ratio) for name in references]
        if with_aims:
            row.append(_aim(contender, figures))
        rows.append([*row, " ".join(shown(figure) for figure in own)])
    report.table(head, rows)
