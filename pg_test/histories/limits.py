"""The limits that were in force, from the tables of settings as their commits changed them."""

from bisect import bisect_left
from dataclasses import dataclass

from histories.model import NEVER, Commit
from support.settings import KEYS

# What is lost on its way to a client happens soon, or not at all.
SOON = 1.0
_LIMIT = {"queue": "max_running", "tenant": "slots", "account": "slots", "concurrency": "slots"}


@dataclass(slots=True)
class Step:
    """From this commit on a gate has this limit: for nobody before it was sent, for everybody since it was done."""

    index: int
    sent: float
    done: float
    limit: float


class Limits:
    def __init__(self, settings: dict[str, list[dict]], commits: list[Commit]):
        self._first = {
            (table, *(row[name] for name in KEYS[table])): limit_of(table, row)
            for table, rows in settings.items()
            for row in rows
        }
        self._changes = [commit for commit in commits if commit.settings]
        self._steps: dict[tuple, list[Step]] = {}
        self._unlimited: dict[tuple, list[tuple[float, float]]] = {}

    def steps(self, gate: tuple) -> list[Step]:
        if gate[0] in ("session", "unique"):
            return [Step(-1, -NEVER, -NEVER, 1)]
        if gate not in self._steps:
            self._steps[gate] = self._walk(gate)
        return self._steps[gate]

    def greatest(self, gate: tuple, before: int, sent: float) -> float:
        """The greatest limit that may have been in force from `sent` on, among the commits before number `before`."""
        steps = self.steps(gate)
        at = bisect_left(steps, before, key=lambda step: step.index) - 1
        greatest = steps[at].limit
        while at > 0 and steps[at].done >= sent:
            at -= 1
            greatest = max(greatest, steps[at].limit)
        return greatest

    def unlimited_times(self, gate: tuple) -> list[tuple[float, float]]:
        """The times in which no limit can have been in force."""
        if gate not in self._unlimited:
            steps = self.steps(gate)
            times = [
                (step.done, following.sent if following else NEVER)
                for step, following in zip(steps, [*steps[1:], None], strict=True)
                if step.limit == NEVER
            ]
            self._unlimited[gate] = [(begin, end) for begin, end in times if begin < end]
        return self._unlimited[gate]

    def _walk(self, gate: tuple) -> list[Step]:
        rows = dict(self._first)
        steps = [Step(-1, -NEVER, -NEVER, _effective(rows, gate))]
        for commit in self._changes:
            for change in commit.settings:
                name = (change.table, *change.key)
                if change.row is None:
                    rows.pop(name, None)
                else:
                    rows[name] = limit_of(change.table, change.row)
            limit = _effective(rows, gate)
            if limit != steps[-1].limit:
                steps.append(Step(commit.index, begun(commit), done(commit), limit))
        return steps


def begun(commit: Commit) -> float:
    """A time before which a commit held for nobody."""
    return commit.transaction.sent if commit.transaction else -NEVER


def done(commit: Commit) -> float:
    """A time since which a commit held for everybody."""
    transaction = commit.transaction
    if transaction is None:
        return NEVER
    return transaction.ended + (SOON if transaction.outcome == "unknown" else 0)


def limit_of(table: str, row: dict) -> float:
    if str(row.get("paused")).lower() == "true":
        return 0
    limit = row.get(_LIMIT[table])
    return NEVER if limit is None else int(limit)


def _effective(rows: dict[tuple, float], gate: tuple) -> float:
    for name in _candidates(gate):
        if name in rows:
            return rows[name]
    return NEVER


def _candidates(gate: tuple) -> list[tuple]:
    table, *key = gate
    if table == "account":
        return [gate, (table, key[0], "*"), (table, "*", "*")]
    return [gate, (table, "*")]
