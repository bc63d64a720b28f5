"""Claim one job, complete it: two transactions a job."""

from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Learned, Work

JOBS_A_SECOND = 5_000


def _measure(run: Run, synchronous_commit: str, clients: list[int]) -> Figures:
    figures = Figures(
        f"Claim and complete one job at a time, synchronous_commit {synchronous_commit}",
        "jobs/s",
        [Point(f"{number} clients" if number > 1 else "1 client", number) for number in clients],
        axis="clients",
        settings=[f"synchronous_commit {synchronous_commit}", "two calls a job"],
    )
    sync = {"synchronous_commit": synchronous_commit}
    run.take_turns(
        figures,
        lambda point: Work("work", int(point.at), 1, sync, run.seconds),
        Learned(JOBS_A_SECOND * run.seconds).rate,
    )
    return figures


def measure_durable(run: Run) -> Figures:
    return _measure(run, "on", [1, 16] if run.quick else [1, 4, 16, 64])


def measure_async(run: Run) -> Figures:
    return _measure(run, "off", [16] if run.quick else [1, 4, 16, 64])
