"""One job an enqueue."""

from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Work, enqueue_rate


def measure(run: Run) -> Figures:
    clients = [1, 16] if run.quick else [1, 4, 16]
    figures = Figures(
        "Single enqueues",
        "jobs/s",
        [Point(f"{number} clients" if number > 1 else "1 client", number) for number in clients],
        axis="clients",
        settings=["synchronous_commit on"],
    )
    run.take_turns(figures, lambda point: Work("enqueue", int(point.at), seconds=run.seconds), enqueue_rate)
    return figures
