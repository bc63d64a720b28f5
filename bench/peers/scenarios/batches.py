"""Claim and complete several jobs a call."""

from dataclasses import replace

from peers.arena import Database
from peers.contender import REFERENCE
from peers.figures import Figures, Point
from peers.run import Run
from peers.slices import Learned, Work

CLIENTS = 4
# One consumer of PgQ reads one batch at a time.
ONE_AT_A_TIME = {"pgq": 1}
JOBS_A_SECOND = 40_000


def measure(run: Run) -> Figures:
    return _measure(run, "Claim and complete in batches", [f"{CLIENTS} clients (PgQ: one)"], REFERENCE)


def measure_no_history(run: Run) -> Figures:
    return _measure(run, "Claim and complete in batches, nothing kept", [f"{CLIENTS} clients"], "bare_deleted")


def _measure(run: Run, title: str, settings: list[str], against: str) -> Figures:
    figures = Figures(
        title,
        "jobs/s",
        [Point(f"{size} a batch", size) for size in (10, 100)],
        axis="jobs a batch",
        against=against,
        settings=[*settings, "synchronous_commit off"],
    )
    learned = Learned(JOBS_A_SECOND * run.seconds)

    def rate(database: Database, work: Work) -> float:
        return learned.rate(database, replace(work, clients=ONE_AT_A_TIME.get(database.contender.name, CLIENTS)))

    run.take_turns(
        figures,
        lambda point: Work("work_many", CLIENTS, int(point.at), {"synchronous_commit": "off"}, run.seconds),
        rate,
    )
    return figures
