"""What Turnstile is meant to reach, and whether it did."""

from collections.abc import Callable
from statistics import median

from peers.contender import Contender
from peers.render.tables import as_figure, as_ratio, plain_table
from peers.scenarios.own_workers import RATE

OWN, BARE, SAME_ROW, FROM_JSON = "turnstile", "bare", "same_row", "bare_from_json"
NOT_DURABLE, NO_HISTORY, DELETED = "turnstile_not_durable", "turnstile_no_history", "bare_deleted"
HUNDRED = "100 a batch"

# From all results: whether it was reached, and what was found; None where it was not measured.
Look = Callable[[dict], tuple[bool, str] | None]


def _rounds(data: dict, scenario: str, contender: str, point: str, what: str = "rounds") -> list[float]:
    rows = data["scenarios"].get(scenario, {}).get("rows", {})
    return rows.get(contender, {}).get(point, {}).get(what, [])


def _points(data: dict, scenario: str) -> list[str]:
    return [point["name"] for point in data["scenarios"].get(scenario, {}).get("points", [])]


def _pairs(own: list[float], base: list[float]) -> float | None:
    ratios = [figure / against for figure, against in zip(own, base, strict=False) if against]
    return median(ratios) if ratios else None


def against(contender: str, scenario: str, at_least: float, own: str = OWN, point: str | None = None) -> Look:
    """At the point, or else at each: the worst counts."""

    def look(data: dict) -> tuple[bool, str] | None:
        ratios = [
            _pairs(_rounds(data, scenario, own, name), _rounds(data, scenario, contender, name))
            for name in _points(data, scenario)
            if point in (None, name)
        ]
        known = [ratio for ratio in ratios if ratio is not None]
        return (min(known) >= at_least, _range(known)) if known else None

    return look


def _range(ratios: list[float]) -> str:
    least, most = as_ratio(min(ratios)), as_ratio(max(ratios))
    return least if len(ratios) == 1 else f"{least} to {most}"


def one_call_against_two(at_least: float) -> Look:
    def look(data: dict) -> tuple[bool, str] | None:
        points = _points(data, "one_call")
        if len(points) < 2:
            return None
        ratio = _pairs(_rounds(data, "one_call", OWN, points[1]), _rounds(data, "one_call", BARE, points[0]))
        return None if ratio is None else (ratio >= at_least, as_ratio(ratio))

    return look


def _to_own_first(data: dict, scenario: str, point: str) -> float | None:
    return _pairs(_rounds(data, scenario, OWN, point), _rounds(data, scenario, OWN, point, "own_first"))


def against_own_first(scenario: str, at: int, at_least: float) -> Look:
    def look(data: dict) -> tuple[bool, str] | None:
        points = _points(data, scenario)
        if len(points) < 2:
            return None
        point = points[at]
        ratio = _to_own_first(data, scenario, point)
        return None if ratio is None else (ratio >= at_least, f"{as_ratio(ratio)} at {point}")

    return look


def worst_against_own_first(scenario: str, at_least: float) -> Look:
    def look(data: dict) -> tuple[bool, str] | None:
        ratios = {name: _to_own_first(data, scenario, name) for name in _points(data, scenario)[1:]}
        known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        if not known:
            return None
        worst = min(known, key=known.__getitem__)
        return known[worst] >= at_least, f"{_range(list(known.values()))}, worst at {worst}"

    return look


def figure(scenario: str, point: str, limit: float, is_least: bool, unit: str, own: str = OWN) -> Look:
    def look(data: dict) -> tuple[bool, str] | None:
        rounds = _rounds(data, scenario, own, point)
        if not rounds:
            return None
        found = median(rounds)
        return (found >= limit) if is_least else (found <= limit), f"{as_figure(found)} {unit}".strip()

    return look


def ahead_of_peers(scenario: str, own_name: str = OWN, at: str | None = None) -> Look:
    """Peers that are ahead, and where."""

    def look(data: dict) -> tuple[bool, str] | None:
        ahead = []
        measured = False
        for point in _points(data, scenario):
            if at not in (None, point):
                continue
            own = _rounds(data, scenario, own_name, point)
            for name in data["scenarios"][scenario]["rows"]:
                peer = _rounds(data, scenario, name, point)
                if own and peer and Contender(name).is_peer:
                    measured = True
                    if median(peer) > median(own):
                        ahead.append(f"{name} at {point}")
        return (not ahead, "ahead: " + ", ".join(ahead) if ahead else "none is ahead") if measured else None

    return look


def worker_against(own: str, *peers: str, at_least: float = 1.0) -> Look:
    """Against the fastest of them."""

    def look(data: dict) -> tuple[bool, str] | None:
        rates = {name: _rounds(data, "own_workers", name, RATE) for name in (own, *peers)}
        medians = {name: median(rounds) for name, rounds in rates.items() if rounds}
        rest = {name: rate for name, rate in medians.items() if name != own}
        if own not in medians or not rest:
            return None
        fastest = max(rest, key=rest.__getitem__)
        ratio = medians[own] / rest[fastest]
        return ratio >= at_least, f"{as_ratio(ratio)} of {fastest}"

    return look


def step(name: str, lanes: int, most_ns: float, unit: str, size: float) -> Look:
    """The slowest shape counts."""

    def look(data: dict) -> tuple[bool, str] | None:
        steps = data["scenarios"].get("scheduler", {}).get("steps", [])
        times = [each["ns"] for each in steps if each["step"] == name and each["lanes"] == lanes]
        return (
            (max(times) <= most_ns, f"{as_figure(min(times) / size)} to {as_figure(max(times) / size)} {unit}")
            if times
            else None
        )

    return look


def memory(what: str, most_bytes: int) -> Look:
    def look(data: dict) -> tuple[bool, str] | None:
        known = dict(data["scenarios"].get("scheduler", {}).get("memory", []))
        return (int(known[what]) <= most_bytes, f"{known[what]} bytes") if what in known else None

    return look


AIMS: list[tuple[str, str, Look]] = [
    ("claim and complete singly, against the bare table", "≥ 0.9", against(BARE, "singles", 0.9)),
    ("claim and complete singly, peers", "none ahead", ahead_of_peers("singles")),
    ("one call a job, against the bare table's two", "≥ 1.2", one_call_against_two(1.2)),
    ("claim and complete singly, slow disk, against the bare table", "≥ 1.0", against(BARE, "singles_slow_disk", 1.0)),
    ("claim and complete singly, slow disk, peers", "none ahead", ahead_of_peers("singles_slow_disk")),
    (
        "claim and complete singly, slow disk, durable_claims off, against the bare table",
        "≥ 1.7",
        against(BARE, "singles_slow_disk", 1.7, own=NOT_DURABLE),
    ),
    (
        "claim and complete singly, synchronous_commit off, 4 clients, against the bare table",
        "≥ 1.35",
        against(BARE, "singles_async", 1.35, point="4 clients"),
    ),
    ("batches of 100, against the bare table that keeps", "≥ 2.0", against(BARE, "batches", 2.0, point=HUNDRED)),
    ("batches of 100, peers", "none ahead", ahead_of_peers("batches", at=HUNDRED)),
    ("batches of 100", "≥ 85,000 jobs/s", figure("batches", HUNDRED, 85_000, True, "jobs/s")),
    (
        "batches of 100 without history, against the bare table that deletes",
        "≥ 1.6",
        against(DELETED, "batches_no_history", 1.6, own=NO_HISTORY, point=HUNDRED),
    ),
    (
        "batches of 100 without history, peers that keep nothing",
        "none ahead",
        ahead_of_peers("batches_no_history", own_name=NO_HISTORY, at=HUNDRED),
    ),
    (
        "batches of 100 without history",
        "≥ 100,000 jobs/s",
        figure("batches_no_history", HUNDRED, 100_000, True, "jobs/s", own=NO_HISTORY),
    ),
    ("single enqueues, against the smaller row of the bare table", "≥ 0.92", against(BARE, "enqueue", 0.92)),
    ("single enqueues, against a plain INSERT of the same row", "≥ 0.92", against(SAME_ROW, "enqueue", 0.92)),
    ("bulk enqueues, against the bare table's INSERT of the same JSON", "≥ 0.9", against(FROM_JSON, "bulk", 0.9)),
    ("bulk enqueues, against the bare table's INSERT of an array", "≥ 0.9", against(BARE, "bulk", 0.9)),
    ("bulk enqueues, against a plain INSERT of the same rows", "≥ 0.9", against(SAME_ROW, "bulk", 0.9)),
    ("a new connection for each enqueue, against the bare table", "≥ 0.9", against(BARE, "connect", 0.9, point="enqueue")),
    (
        "a new connection for each claim and complete, against the bare table",
        "≥ 0.9",
        against(BARE, "connect", 0.9, point="claim and complete"),
    ),
    ("the largest backlog, against a slice's worth", "≥ 0.9", against_own_first("backlog", -1, 0.9)),
    ("100 to 100,000 tenants who all may run, against 1", "≥ 0.95", worst_against_own_first("dense_tenants", 0.95)),
    ("the most tenants, most full, against 1", "≥ 0.9", against_own_first("tenants", -1, 0.9)),
    ("a long session in front, against none", "≥ 0.9", against_own_first("sessions", 1, 0.9)),
    ("pinned horizon, last against first", "≥ 0.95", figure("horizon", "last / first", 0.95, True, "")),
    ("wake-up, idle, p50", "≤ 1 ms", figure("wake_up", "idle, p50", 1.0, False, "ms")),
    ("own worker with history, PgQ's consumer", "≥ 1.1", worker_against(OWN, "pgq", at_least=1.1)),
    (
        "own worker in Python, peers in Python",
        "ahead of all",
        worker_against("turnstile_python", "procrastinate", "pgqueuer", "awa"),
    ),
    ("own worker in Node, peers in Node", "ahead of all", worker_against("turnstile_node", "graphile_worker", "pg_boss")),
    ("claim step of the scheduler, 10⁶ lanes", "≤ 2 µs", step("claim step", 1_000_000, 2e3, "µs", 1e3)),
    ("memory of a lane with a gate of its own", "≤ 160 bytes", memory("bytes a lane in use, one gate of its own", 160)),
    ("rebuild of 10⁶ lanes, without reading the tables", "≤ 3 s", step("rebuild, all lanes", 1_000_000, 3e9, "s", 1e9)),
]


def section(data: dict) -> list[str]:
    rows = []
    for name, wanted, look in AIMS:
        found = look(data)
        if found:
            reached, text = found
            rows.append([name, wanted, text, "reached" if reached else "missed"])
    if not rows:
        return []
    return ["### Aims", "", *plain_table(["figure", "aim", "found", ""], rows)]
