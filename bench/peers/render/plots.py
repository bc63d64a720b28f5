"""One plot a scenario, as SVG: lines over an axis of numbers, or bars."""

from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from peers.contender import ORDER, Contender
from peers.render.summary import shown
from peers.render.tables import in_order

SIZE = (8.0, 4.6)
# Letters of a title in one line.
TITLE = 70
# Figures that differ by more than this need a logarithmic scale.
WIDE_BARS, WIDE_LINES = 50, 10
# Turnstile stands out, bare tables are dashed lines, and everybody keeps a colour in all plots.
OWN_COLOURS = {
    "turnstile": "#c1121f",
    "turnstile_not_durable": "#f4a261",
    "turnstile_no_history": "#e63946",
    "turnstile_full_pages": "#ff8fa3",
    "turnstile_work": "#780000",
    "turnstile_client": "#e5989b",
    "turnstile_python": "#b5838d",
    "turnstile_node": "#6d6875",
    "bare": "#333333",
    "bare_from_json": "#888888",
    "bare_deleted": "#666666",
}
OTHERS = [name for name in ORDER if name not in OWN_COLOURS]
RED, DARK_GREEN = "tab:red", "#1b4332"
# Red is Turnstile's own.
FREE_COLOURS = [DARK_GREEN if colour == matplotlib.colors.to_rgb(RED) else colour for colour in pyplot.get_cmap("tab10").colors]
COLOURS = OWN_COLOURS | dict(zip(OTHERS, FREE_COLOURS, strict=True))
THICK = ("turnstile", "turnstile_no_history")


def plot(key: str, scenario: dict, folder: Path) -> bool:
    """Whether there was anything to draw."""
    figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
    if scenario["series"]:
        drawn = _series(axes, scenario)
    elif all(point["at"] is not None for point in scenario["points"]) and len(scenario["points"]) > 1:
        drawn = _lines(axes, scenario)
    else:
        drawn = _bars(axes, scenario)
    axes.set_title(fill(scenario["title"], TITLE), fontsize=11)
    axes.grid(True, axis="y", alpha=0.3)
    if drawn:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.savefig(folder / f"{key}.svg", metadata={"Date": None})
    pyplot.close(figure)
    return drawn


def _style(name: str) -> dict:
    width = 2.4 if name in THICK else 1.4
    return {
        "color": COLOURS[name],
        "label": Contender(name).title,
        "linewidth": width,
        "linestyle": "--" if name.startswith("bare") else "-",
    }


def _series(axes, scenario: dict) -> bool:
    for name in in_order(scenario):
        series = scenario["series"].get(name, [])
        axes.plot([at for at, _ in series], [rate for _, rate in series], **_style(name))
    axes.set_xlabel(scenario["axis"])
    axes.set_ylabel(scenario["unit"])
    axes.set_ylim(bottom=0)
    return bool(scenario["series"])


def _lines(axes, scenario: dict) -> bool:
    figures = []
    for name in in_order(scenario):
        cells = [(point["at"], shown(scenario, name, point)) for point in scenario["points"]]
        known = [(at, cell.figure) for at, cell in cells if cell and cell.figure > 0]
        if known:
            axes.plot(
                [at for at, _ in known], [figure for _, figure in known], marker="o", markersize=4, **_style(name)
            )
            figures += [figure for _, figure in known]
    axes.set_xscale("log")
    axes.set_xticks(
        [point["at"] for point in scenario["points"]], [point["name"] for point in scenario["points"]], fontsize=8
    )
    axes.minorticks_off()
    axes.set_xlabel(scenario["axis"])
    if figures and max(figures) > WIDE_LINES * min(figures):
        axes.set_yscale("log")
        axes.set_ylabel(f"{scenario['unit']}, logarithmic")
    else:
        axes.set_ylim(bottom=0)
        axes.set_ylabel(scenario["unit"])
    return bool(figures)


def _bars(axes, scenario: dict) -> bool:
    """Points of the scenario's own unit only; others would need an axis of their own."""
    points = [point for point in scenario["points"] if point["unit"] is None]
    points = points or scenario["points"][:1]
    names = [name for name in in_order(scenario) if any(shown(scenario, name, point) for point in points)]
    width = 0.8 / max(1, len(names))
    for number, name in enumerate(names):
        cells = [shown(scenario, name, point) for point in points]
        places = [at + number * width for at, cell in enumerate(cells) if cell]
        style = _style(name)
        axes.bar(places, [cell.figure for cell in cells if cell], width, color=style["color"], label=style["label"])
    heights = [bar.get_height() for bar in axes.patches if bar.get_height() > 0]
    if heights and max(heights) > WIDE_BARS * min(heights):
        axes.set_yscale("log")
    middle = 0.4 - width / 2
    axes.set_xticks([at + middle for at in range(len(points))], [point["name"] for point in points], fontsize=8)
    axes.set_ylabel(points[0]["unit"] or scenario["unit"])
    return bool(names)
