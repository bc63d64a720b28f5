"""One table a scenario."""

from peers.contender import ORDER, Contender
from peers.render.summary import Shown, shown, why_not


def as_figure(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def as_ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def _text(cell: Shown) -> str:
    if cell.ratio is None:
        return as_figure(cell.figure)
    return f"{as_figure(cell.figure)} ({as_ratio(cell.ratio)})"


def in_order(scenario: dict) -> list[str]:
    return [name for name in ORDER if name in scenario["rows"]]


def table(scenario: dict) -> list[str]:
    points = scenario["points"]
    lines = [_row(["contender", *(point["name"] for point in points)]), _row(["---"] + ["--:"] * len(points))]
    notes: dict[str, list[str]] = {}
    for name in in_order(scenario):
        cells = [_cell(scenario, name, point, notes) for point in points]
        lines.append(_row([Contender(name).title, *cells]))
    return [*lines, "", *_notes(notes)]


def _cell(scenario: dict, name: str, point: dict, notes: dict[str, list[str]]) -> str:
    found = shown(scenario, name, point)
    word, why = why_not(scenario, name, point)
    if why:
        _note(notes, f"{why}; the figures are of the rounds before" if found else why, Contender(name).title)
    if found:
        return _text(found)
    return word


def _note(notes: dict[str, list[str]], why: str, who: str) -> None:
    if who not in notes.setdefault(why, []):
        notes[why].append(who)


def _notes(notes: dict[str, list[str]]) -> list[str]:
    lines = [f"- {', '.join(who)}: {_plain(why)}" for why, who in notes.items()]
    return [*lines, ""] if lines else []


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("<", "‹").replace("\n", " ")


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def plain_table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *(_row([_plain(cell) for cell in row]) for row in rows), ""]
