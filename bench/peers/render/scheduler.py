"""The scheduler's own steps and its memory."""

from peers.render.tables import as_figure, plain_table


def section(result: dict) -> list[str]:
    if "failed" in result:
        return ["### The scheduler by itself", "", f"Failed: {result['failed']}", ""]
    return [
        "### The scheduler by itself",
        "",
        "Time under its lock, medians of criterion (`make bench-scheduler`); lanes take turns, so each claim meets another one.",
        "",
        *_steps(result["steps"]),
        *plain_table(["memory", "bytes"], result["memory"]),
    ]


def _steps(steps: list[dict]) -> list[str]:
    sizes = sorted({each["lanes"] for each in steps})
    times = {(each["step"], each["shape"], each["lanes"]): each["ns"] for each in steps}
    rows = []
    for step, shape in sorted({(step, shape) for step, shape, _ in times}):
        cells = [times.get((step, shape, lanes)) for lanes in sizes]
        rows.append([step, shape, *("" if ns is None else _time(ns) for ns in cells)])
    return plain_table(["step", "lanes", *(f"at {lanes:,}" for lanes in sizes)], rows)


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{as_figure(ns / size)} {unit}"
    return f"{as_figure(ns)} ns"
