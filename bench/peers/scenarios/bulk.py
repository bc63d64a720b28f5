"""Very many jobs an enqueue."""

from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Work, enqueue_rate

CLIENTS = 4


def measure(run: Run) -> Figures:
    sizes = [1_000] if run.quick else [100, 1_000]
    figures = Figures(
        "Bulk enqueues",
        "jobs/s",
        [Point(f"{size:,} at once", size) for size in sizes],
        axis="jobs an enqueue",
        settings=[f"{CLIENTS} clients", "synchronous_commit on"],
    )
    run.take_turns(
        figures, lambda point: Work("enqueue_many", CLIENTS, int(point.at), seconds=run.seconds), enqueue_rate
    )
    return figures
