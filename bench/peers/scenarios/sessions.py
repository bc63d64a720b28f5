"""Jobs that must run one at a time within their session: a long one in front, and very many."""

from lib.queues import payload
from peers.figures import OWN_FIRST, Figures, Point
from peers.run import Run, refuse_without
from peers.scenarios.own_first import measure_pairs

CLIENTS = 4
LEAST = 10_000


def measure(run: Run) -> Figures:
    long = 10_000 if run.quick else 100_000
    cases = {"1,000 sessions": (0, 1_000), f"one of {long:,} jobs in front": (long, 1_000)}
    if not run.quick:
        cases["100,000 sessions"] = (0, 100_000)
    figures = Figures(
        "Sessions",
        "jobs/s",
        [Point(name) for name in cases],
        against=OWN_FIRST,
        settings=[f"{CLIENTS} clients", "synchronous_commit off", "claim and complete one job at a time"],
    )

    def prepare(database, point) -> None:
        jobs, sessions = cases[point.name]
        database.set("bench.sessions", sessions)
        if jobs:
            database.run("prepare.sql", payload=payload(), jobs=jobs)
        database.backlog = jobs + max(sessions, 2 * LEAST)

    run.note_lacks(figures, refuse_without("sessions"))
    measure_pairs(run, figures, prepare, "sessions", CLIENTS)
    return figures
