"""One slice of load on one contender, from pgbench."""

from dataclasses import dataclass, field
from pathlib import Path

from lib.pgbench import NONE_DONE, Load, LoadFailed, start
from lib.queues import payload
from peers.arena import Database, Unable, last_line, run_part
from peers.contender import Contender

MOST_REFILLS = 5
GRACE_SECONDS = 45
STATEMENT_TIMEOUT = "30 s"


class Unlike(Exception):
    """The contender has no such thing."""


@dataclass(frozen=True)
class Work:
    """What is measured: a load by name, and how many jobs one run of it handles."""

    script: str
    clients: int = 1
    jobs: int = 1
    settings: dict[str, str] = field(default_factory=dict)
    seconds: int = 2
    connects_each_time: bool = False


def script_of(contender: Contender, work: Work, variant: str | None = None) -> Path:
    """The load that the contender has for this work, or why it has none."""
    script = contender.script(work.script, variant, work.jobs if work.jobs > 1 else None)
    if script is None:
        sized = f"{work.script}_{work.jobs}"
        raise Unlike(contender.why_not(sized if sized in contender.facts.get("lacks", {}) else work.script))
    return script


def load_of(database: Database, work: Work) -> Load:
    script = script_of(database.contender, work, database.variant)
    variables = {"n": str(work.jobs), "prepared": "0", "job_id": "0", "attempt": "0"}
    settings = {"statement_timeout": STATEMENT_TIMEOUT.replace(" ", "")} | work.settings
    return Load(
        {script: 1},
        work.clients,
        variables,
        settings,
        database=database.name,
        connects_each_time=work.connects_each_time,
    )


def enqueue_rate(database: Database, work: Work) -> float:
    """Each run of the load adds so many jobs, or fails."""
    database.vacuum()
    program = script_of(database.contender, work)
    if program.suffix == ".py":
        return _program_rate(database, work, program)
    outcome = _run(load_of(database, work), work)
    return outcome.transactions * work.jobs / outcome.seconds


def _program_rate(database: Database, work: Work, program: Path) -> float:
    """Where the client library is the only way in."""
    variables = {"CLIENTS": work.clients, "SECONDS": work.seconds, "JOBS": work.jobs, "PAYLOAD": payload()}
    within = work.seconds + GRACE_SECONDS
    printed = run_part(
        database.contender, program, database.name, within, **{name: str(value) for name, value in variables.items()}
    )
    jobs, seconds = printed.split()[-2:]
    return float(jobs) / float(seconds)


class Learned:
    """Rates of work, each contender with a backlog of its own that grows until its slices do not run dry."""

    def __init__(self, backlog: int):
        self.backlog = backlog
        self.worked: dict[tuple[str, int], Worked] = {}

    def rate(self, database: Database, work: Work) -> float:
        return self.worked.setdefault((database.name, work.jobs), Worked(self.backlog)).rate(database, work)


class Worked:
    """Rates of work on a backlog that is filled up before each slice; learns how much a slice needs."""

    def __init__(self, backlog: int):
        self.backlog = backlog

    def rate(self, database: Database, work: Work, vacuum: bool = True) -> float:
        """Jobs are counted in the tables; a slice that ran dry is run again with twice the backlog."""
        load = load_of(database, work)
        for _ in range(MOST_REFILLS):
            filled = database.fill_to(self.backlog)
            if vacuum and filled:
                database.vacuum()
            before = database.waiting()
            try:
                outcome = _run(load, work)
            except LoadFailed as error:
                if NONE_DONE in str(error):
                    return 0.0
                if database.waiting() > work.clients * work.jobs:
                    raise
                database.settle()
                self.backlog *= 2
                continue
            left = database.waiting()
            database.settle()
            if left > work.clients * work.jobs:
                return (before - left) / outcome.seconds
            self.backlog *= 2
        raise Unable(f"ran dry with {self.backlog // 2:,} jobs")


def _run(load: Load, work: Work):
    return start(load, work.seconds).finish(within=work.seconds + GRACE_SECONDS)


def reason(error: Exception) -> str:
    text = str(error)
    if "statement timeout" in text:
        return f"one statement took longer than {STATEMENT_TIMEOUT}"
    interesting = [line.split("ERROR:")[-1] for line in text.splitlines() if "ERROR" in line or "error" in line]
    return (interesting[0] if interesting else last_line(text) or type(error).__name__).strip()[:300]
