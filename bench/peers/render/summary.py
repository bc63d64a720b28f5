"""What is shown of a cell: the median over the rounds, and how it compares round by round."""

from dataclasses import dataclass
from statistics import median

from peers.figures import OWN_FIRST


@dataclass(frozen=True)
class Shown:
    """`ratios` of one round each; none where there is nothing to compare with."""

    figure: float
    ratios: list[float]

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.ratios else None


def shown(scenario: dict, contender: str, point: dict) -> Shown | None:
    cell = _cell(scenario, contender, point)
    rounds = cell.get("rounds")
    if not rounds:
        return None
    return Shown(median(rounds), _ratios(scenario, contender, point, rounds, cell))


def why_not(scenario: dict, contender: str, point: dict) -> tuple[str, str]:
    """The word for the table, and the note below it."""
    cell = _cell(scenario, contender, point)
    if "lacks" in cell:
        return "–", cell["lacks"]
    if "failed" in cell:
        word = "not measured" if "not measured" in cell["failed"] else "failed"
        return word, cell["failed"]
    return "", ""


def _cell(scenario: dict, contender: str, point: dict) -> dict:
    return scenario["rows"].get(contender, {}).get(point["name"], {})


def _ratios(scenario: dict, contender: str, point: dict, rounds: list[float], cell: dict) -> list[float]:
    if point["unit"] == "ratio":
        return []
    if scenario["against"] == OWN_FIRST:
        base = cell.get("own_first", [])
    else:
        base = [] if contender == scenario["against"] else _cell(scenario, scenario["against"], point).get("rounds", [])
    return [figure / against for figure, against in zip(rounds, base, strict=False) if against]
