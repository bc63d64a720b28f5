"""Claim one job, complete it: two transactions a job."""

from lib.pgbench import SLOW_DISK, SLOW_DISK_US
from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Learned, Work

JOBS_A_SECOND = 5_000


def _measure(run: Run, how: str, settings: dict[str, str], clients: list[int]) -> Figures:
    figures = Figures(
        f"Claim and complete one job at a time, {how}",
        "jobs/s",
        [Point(f"{number} clients" if number > 1 else "1 client", number) for number in clients],
        axis="clients",
        settings=[how, "two calls a job"],
    )
    run.take_turns(
        figures,
        lambda point: Work("work", int(point.at), 1, settings, run.seconds),
        Learned(JOBS_A_SECOND * run.seconds).rate,
    )
    return figures


def measure_durable(run: Run) -> Figures:
    return _measure(run, "synchronous_commit on", {"synchronous_commit": "on"}, [1, 16] if run.quick else [1, 4, 16, 64])


def measure_slow_disk(run: Run) -> Figures:
    how = f"synchronous_commit on, each flush of the log {SLOW_DISK_US / 1000} ms longer"
    return _measure(run, how, SLOW_DISK, [1, 16] if run.quick else [1, 4, 16])


def measure_async(run: Run) -> Figures:
    return _measure(run, "synchronous_commit off", {"synchronous_commit": "off"}, [4] if run.quick else [1, 4, 16])
