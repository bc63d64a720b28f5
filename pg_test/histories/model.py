"""What a history is made of: calls and transactions as the clients saw them, commits as the server wrote them."""

from collections import namedtuple
from dataclasses import dataclass, field

NEVER = float("inf")
# The modes of unique keys in which one job of the key runs at a time.
ONE_RUNS = ("while_executing", "until_and_while_executing")
# What a claim names to take from all queues, by priority and position.
EVERY_QUEUE = "*"

# A live or finished job, as far as the rules ask.
Job = namedtuple(
    "Job",
    "id kind queue tenant account session concurrency_key priority position run_at state holds_session attempt"
    " max_attempts uncounted worker claimed_at lease_expires_at unique_key unique_mode unique_until created_at result"
    " parent opens_batch children cancel_requested_at claim_epoch",
)


@dataclass(slots=True)
class Call:
    client: str
    number: int
    verb: str
    arguments: dict
    sent: float
    ended: float = NEVER
    outcome: str = "unknown"  # ok, error, unknown
    answer: object = None
    xid: int | None = None
    sqlstate: str | None = None
    message: str | None = None
    undone: bool = False  # by a rollback to a savepoint

    @property
    def token(self) -> str:
        return f"{self.client}:{self.number}"


@dataclass(slots=True)
class Transaction:
    calls: list[Call]
    outcome: str  # committed, rolled back, unknown
    ended: float = NEVER
    is_lost: bool = False  # it had committed, and a crash has taken it back

    @property
    def sent(self) -> float:
        return self.calls[0].sent

    @property
    def kept(self) -> list[Call]:
        """The calls that count if it committed."""
        return [call for call in self.calls if call.outcome != "error" and not call.undone]


Change = namedtuple("Change", "commit id old new")
Setting = namedtuple("Setting", "table key row")


@dataclass(slots=True)
class Commit:
    index: int
    xid: int
    at: float
    changes: list[Change] = field(default_factory=list)
    finished: list[Job] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    transaction: Transaction | None = None


@dataclass(slots=True)
class Rest:
    """A job that was available, and touched by nobody whose work was kept, from one time to another; since `changed` it may
    have been what it is."""

    job: Job
    changed: float
    begin: float
    end: float


def gates(job: Job) -> list[tuple]:
    """The gates that a job passes through."""
    found = [("queue", job.queue)]
    if job.tenant is not None:
        found.append(("tenant", job.tenant))
        if job.account is not None:
            found.append(("account", job.tenant, job.account))
    if job.concurrency_key is not None:
        found.append(("concurrency", job.concurrency_key))
    if job.unique_mode in ONE_RUNS and job.unique_key is not None:
        found.append(("unique", job.tenant, job.unique_key))
    if job.parent is not None:
        found.append(("batch", str(job.parent)))
    if job.session is not None:
        found.append(session(job))
    return found


def session(job: Job) -> tuple:
    return ("session", job.queue, job.tenant, job.session)


def rank(job: Job) -> tuple:
    return (job.priority, job.position)


def is_claim(change: Change) -> bool:
    """A job starts to run; also where it is claimed again in the transaction that gave it back."""
    new, old = change.new, change.old
    return new is not None and new.state == "running" and (old is None or old.state != "running" or old.attempt != new.attempt)
