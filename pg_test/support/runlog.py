"""What the clients saw of their runs, and the claims among it that no limit can have allowed.

A client knows when it asked for a run, when it had it, and when it began to give it back. Between the last two the
run was held for certain; the claim itself happened at some instant between the first two. A claim is a violation if
the runs held for certain through all of that time already filled the limit, at its greatest, of one of its gates.
So a violation is certain whatever the machine's load, and no duration is ever compared with a number.
"""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass

NEVER = float("inf")


@dataclass
class Run:
    id: int
    attempt: int
    gates: tuple[str, ...]
    sent: float
    got: float
    ended: float = NEVER
    # False for a run that goes on because its end was rolled back: it is held, but was not claimed then.
    claimed: bool = True
    # True once the transaction or savepoint of its claim was rolled back: there was no such run.
    undone: bool = False


class Limits:
    """The limits of gates over time. A change took place at some instant between when it was sent and done."""

    def __init__(self, slots: dict[str, int | None]):
        self._history = {gate: [(-NEVER, -NEVER, slots)] for gate, slots in slots.items()}

    def change(self, gate: str, slots: int | None, sent: float, done: float) -> None:
        self._history[gate].append((sent, done, slots))

    def greatest(self, gate: str, begin: float = -NEVER, end: float = NEVER) -> float:
        """The greatest limit that may have held at some instant of this time; infinity where there is none."""
        if gate not in self._history:
            return 1 if gate.startswith(("session ", "job ")) else NEVER
        changes = self._history[gate]
        possible = []
        for (sent, _, slots), following in zip(changes, [*changes[1:], None], strict=True):
            if sent <= end and (following is None or following[1] >= begin):
                possible.append(NEVER if slots is None else slots)
        return max(possible)


class RunLog:
    """The runs of one client. Those of a batch have the same times."""

    def __init__(self):
        self.runs: list[Run] = []

    def claimed(self, jobs, gates_of, sent: float) -> list[Run]:
        got = time.monotonic()
        runs = [Run(job.id, job.attempt, (*gates_of(job), f"job {job.id}"), sent, got) for job in jobs]
        self.runs += runs
        return runs

    def resumed(self, run: Run) -> Run:
        """The same run, held again from now on: what had ended it was rolled back."""
        now = time.monotonic()
        again = Run(run.id, run.attempt, run.gates, now, now, claimed=False)
        self.runs.append(again)
        return again


def ending(run: Run) -> None:
    """To call just before the client gives the run back, in whatever way."""
    run.ended = min(run.ended, time.monotonic())


def undoing(runs: list[Run]) -> None:
    """To call just before the client rolls the claims of these runs back."""
    for run in runs:
        ending(run)
        run.undone = True


def violations(runs: list[Run], limits: Limits) -> list[str]:
    """The claims beyond a limit. A session and a job itself are gates with one slot."""
    by_gate = defaultdict(list)
    for run in runs:
        for gate in run.gates:
            by_gate[gate].append(run)
    found = []
    for gate, behind in by_gate.items():
        for claim in behind:
            if not claim.claimed:
                continue
            held = sum(1 for run in behind if run.got < claim.sent and run.ended > claim.got)
            batch = sum(1 for run in behind if run.sent == claim.sent and run.got == claim.got and run.claimed)
            limit = limits.greatest(gate, claim.sent, claim.got)
            if held + batch > limit:
                found.append(f"{gate}: {held} held and {batch} claimed where {limit} may run: {claim}")
    return found


def repeated(runs: list[Run]) -> list[tuple[int, int]]:
    """The (id, attempt) that more than one committed claim has handed out."""
    handed_out = Counter((run.id, run.attempt) for run in runs if run.claimed and not run.undone)
    return [name for name, times in handed_out.items() if times > 1]
