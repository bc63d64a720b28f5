"""Very many tenants, nine in ten or more of them full, with jobs waiting in front of all others."""

from lib.queues import payload
from peers.figures import OWN_FIRST, Figures, Point
from peers.run import Run, refuse_without
from peers.scenarios.own_first import measure_pairs

CLIENTS = 4
# So few that each is met, and its limit read, before anything counts.
MOST_THAT_CAN_RUN = 1_000


def measure(run: Run) -> Figures:
    counts = (1, 1_000) if run.quick else (1, 100, 1_000, 10_000, 100_000)
    in_front = 20_000 if run.quick else 100_000
    figures = Figures(
        f"Tenants, most of them full with {in_front:,} jobs in front",
        "jobs/s",
        [Point(f"{count:,}", count) for count in counts],
        axis="tenants",
        against=OWN_FIRST,
        settings=[f"{CLIENTS} clients", "synchronous_commit off", "a full tenant has one slot and one job that runs"],
    )

    def prepare(database, point) -> None:
        tenants = int(point.at)
        can_run = max(1, min(tenants // 10, MOST_THAT_CAN_RUN))
        database.set("bench.open", can_run)
        database.set("bench.full", tenants - can_run)
        database.run("prepare.sql", payload=payload(), jobs=max(in_front, tenants - can_run))

    run.note_lacks(figures, refuse_without("tenants"))
    measure_pairs(run, figures, prepare, "tenants", CLIENTS)
    return figures
