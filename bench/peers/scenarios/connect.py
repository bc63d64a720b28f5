"""A new connection for each run of a load."""

from peers.arena import Database
from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Learned, Work, enqueue_rate

CLIENTS = 4
JOBS_A_SECOND = 1_000
LOADS = {"enqueue": "enqueue", "claim and complete": "work"}


def measure(run: Run) -> Figures:
    figures = Figures(
        "A new connection for each job",
        "jobs/s",
        [Point(name) for name in LOADS],
        settings=[f"{CLIENTS} clients", "synchronous_commit on", "claim and complete share a connection"],
    )
    learned = Learned(JOBS_A_SECOND * run.seconds)

    def rate(database: Database, work: Work) -> float:
        return enqueue_rate(database, work) if work.script == "enqueue" else learned.rate(database, work)

    run.take_turns(
        figures,
        lambda point: Work(LOADS[point.name], CLIENTS, seconds=run.seconds, connects_each_time=True),
        rate,
    )
    return figures
