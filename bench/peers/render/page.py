"""benchmarks.md with its plots."""

from pathlib import Path

from peers import scheduler
from peers.contender import Contender, contenders
from peers.figures import OWN_FIRST
from peers.places import METHOD, RESTART
from peers.render import aims
from peers.render.plots import plot
from peers.render.scheduler import section
from peers.render.tables import plain_table, table
from peers.scenarios import ALL

PLOTS = "benchmarks"


def write_page(data: dict, folder: Path) -> Path:
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    page = folder / "benchmarks.md"
    lines = [
        METHOD.read_text().rstrip(),
        "",
        "## Contenders",
        "",
        *_contenders(),
        "## Figures",
        "",
        *_figures(data, folder),
        "",
        RESTART.read_text(),
    ]
    page.write_text("\n".join(lines).rstrip() + "\n")
    return page


def _contenders() -> list[str]:
    head = ["contender", "package", "how it is driven", "its worker", "what it keeps"]
    rows = [[each.facts[key] for key in ("title", "package", "driven", "worker", "keeps")] for each in contenders()]
    return plain_table(head, rows)


def _figures(data: dict, folder: Path) -> list[str]:
    done = [(scenario.key, data["scenarios"][scenario.key]) for scenario in ALL if scenario.key in data["scenarios"]]
    if not done:
        return ["None yet: `make bench` measures them and writes this page anew."]
    lines = [f"- Made by `{command}`" for command in dict.fromkeys(result["command"] for _, result in done)] + [""]
    if any(result.get("quick") for _, result in done):
        lines += ["**A quick run: it shows that everything works, not how fast it is.**", ""]
    lines += aims.section(data)
    for key, result in done:
        lines += _scenario(key, result, folder)
    if scheduler.KEY in data["scenarios"]:
        lines += section(data["scenarios"][scheduler.KEY])
    return [*lines, "## Measured on", "", *plain_table(["what", "value"], data.get("machine", []))]


def _scenario(key: str, result: dict, folder: Path) -> list[str]:
    if "failed" in result:
        return [f"### {key}", "", f"Failed: {result['failed']}", ""]
    lines = [f"### {result['title']}", ""]
    lines += [f"{result['unit'].capitalize()}; {'; '.join(result['settings'])}; {_rounds(result)}.", ""]
    lines += [f"In brackets: the ratio to {_reference(result)}, the median of the rounds' ratios.", ""]
    lines += table(result)
    if plot(key, result, folder / PLOTS):
        lines += [f"![{result['title']}]({PLOTS}/{key}.svg)", ""]
    return lines


def _reference(result: dict) -> str:
    against = result["against"]
    return "the contender's own first column" if against == OWN_FIRST else f"the {Contender(against).title}"


def _rounds(result: dict) -> str:
    slices = f"slices of {result['slice_seconds']} s"
    counts = [len(cell["rounds"]) for row in result["rows"].values() for cell in row.values() if "rounds" in cell]
    least, most = min(counts, default=0), max(counts, default=0)
    number = str(most) if least == most else f"{least} to {most}"
    return f"{number} round{'' if most == 1 else 's'} with {slices}, medians"
