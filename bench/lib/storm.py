"""Load in slices, while something happens at one instant."""

from dataclasses import dataclass
from time import monotonic

from lib import pgbench
from lib.database import Database
from lib.pgbench import Load
from lib.queues import ROWS_PER_FILL, Queue, payload

CLAIM = 0


@dataclass
class Slice:
    """A stretch of load, and how many jobs were still put off at its end."""

    jobs_per_second: float
    claim_ms: float
    left: int


def put_off(database: Database, queue: str, jobs: int, ahead: float) -> float:
    """Schedules jobs for one instant; returns it on this machine's clock."""
    due = database.value("turnstile/instant.sql", seconds=ahead)
    instant = monotonic() + ahead
    for first in range(0, jobs, ROWS_PER_FILL):
        number = min(ROWS_PER_FILL, jobs - first)
        database.run("turnstile/fill_due.sql", queue=queue, payload=payload(), due=due, jobs=number)
    return instant


def take_slice(queue: Queue, load: Load, length: int) -> Slice:
    finished = queue.finished()
    outcome = pgbench.run(load, length)
    left = queue.database.value("turnstile/put_off.sql")
    rate = (queue.finished() - finished) / outcome.seconds
    return Slice(rate, outcome.statement_ms[CLAIM], left)


def mean_rate(slices: list[Slice]) -> float:
    return sum(each.jobs_per_second for each in slices) / len(slices)
