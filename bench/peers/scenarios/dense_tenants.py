"""Very many tenants, all of whom may run, with their jobs interleaved."""

from peers.figures import OWN_FIRST, Figures, Point
from peers.run import Run
from peers.scenarios.own_first import measure_pairs

CLIENTS = 4
# Of the most tenants, each has jobs waiting; with fewer there are as many jobs, so that nothing but the tenants differs.
BACKLOG = 200_000


def measure(run: Run) -> Figures:
    counts = (1, 1_000) if run.quick else (1, 100, 1_000, 10_000, 100_000)
    backlog = BACKLOG // 10 if run.quick else BACKLOG
    figures = Figures(
        "Tenants, all of whom may run, their jobs interleaved",
        "jobs/s",
        [Point(f"{count:,}", count) for count in counts],
        axis="tenants",
        against=OWN_FIRST,
        settings=[f"{CLIENTS} clients", "synchronous_commit off", f"{backlog:,} jobs wait", "a tenant has 1,000 slots"],
    )

    def prepare(database, point) -> None:
        database.set("bench.tenants", int(point.at))
        database.run("prepare.sql")
        database.backlog = backlog

    measure_pairs(run, figures, prepare, "dense_tenants", CLIENTS)
    return figures
