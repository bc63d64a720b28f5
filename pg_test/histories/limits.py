"""The limits that were in force, from the tables of settings as their commits changed them."""

from bisect import bisect_left
from collections import defaultdict, namedtuple
from dataclasses import dataclass
from datetime import datetime

from histories.model import NEVER, Commit
from support.settings import KEYS

# What is lost on its way to a client happens soon, or not at all.
SOON = 1.0
_LIMIT = {"queue": "max_running", "tenant": "slots", "account": "slots", "concurrency": "slots", "batch": "slots"}

# What a row of settings says: how many may run at most, how many may run for certain, before when none may start, and
# the rate as (starts, microseconds, burst).
Terms = namedtuple("Terms", "limit sure until rate", defaults=(-NEVER, None))
_FREE = Terms(NEVER, NEVER)


@dataclass(slots=True)
class Step:
    """From this commit on a gate has these terms: for nobody before it was sent, for everybody since it was done."""

    index: int
    sent: float
    done: float
    terms: Terms


class Limits:
    def __init__(self, settings: dict[str, list[dict]], commits: list[Commit], read=None):
        self._read = read or terms_of
        self._first = {(table, *(row[name] for name in KEYS[table])): row for table, rows in settings.items() for row in rows}
        self._changes = [commit for commit in commits if commit.settings]
        # Which of these are about a row: there are many batches.
        self._numbers: dict[tuple, list[int]] = defaultdict(list)
        for number, commit in enumerate(self._changes):
            for change in commit.settings:
                self._numbers[(change.table, *change.key)].append(number)
        self._steps: dict[tuple, list[Step]] = {}
        self._unlimited: dict[tuple, list[tuple[float, float]]] = {}
        self._paused_sessions = {
            ("session", *change.key)
            for commit in self._changes
            for change in commit.settings
            if change.table == "paused_session"
        }

    def steps(self, gate: tuple) -> list[Step]:
        if gate[0] in ("session", "unique"):
            # Of a session that was ever paused nothing is known for certain.
            return [Step(-1, -NEVER, -NEVER, Terms(1, 0 if gate in self._paused_sessions else 1))]
        if gate not in self._steps:
            self._steps[gate] = self._walk(gate)
        return self._steps[gate]

    def in_force(self, gate: tuple, before: int, sent: float) -> list[Terms]:
        """The terms that may have been in force from `sent` on, among the commits before number `before`."""
        steps = self.steps(gate)
        first = last = bisect_left(steps, before, key=lambda step: step.index) - 1
        while first > 0 and steps[first].done >= sent:
            first -= 1
        return [step.terms for step in steps[first : last + 1]]

    def greatest(self, gate: tuple, before: int, sent: float) -> float:
        return max(terms.limit for terms in self.in_force(gate, before, sent))

    def unlimited_times(self, gate: tuple) -> list[tuple[float, float]]:
        """The times in which no limit can have been in force."""
        if gate not in self._unlimited:
            steps = self.steps(gate)
            times = [
                (step.done, following.sent if following else NEVER)
                for step, following in zip(steps, [*steps[1:], None], strict=True)
                if step.terms.sure == NEVER
            ]
            self._unlimited[gate] = [(begin, end) for begin, end in times if begin < end]
        return self._unlimited[gate]

    def _walk(self, gate: tuple) -> list[Step]:
        names = _candidates(gate)
        rows = {name: self._first[name] for name in names if name in self._first}
        steps = [Step(-1, -NEVER, -NEVER, self._effective(rows, gate))]
        for number in sorted({number for name in names for number in self._numbers.get(name, [])}):
            commit = self._changes[number]
            for change in commit.settings:
                name = (change.table, *change.key)
                if name not in names:
                    continue
                if change.row is None:
                    rows.pop(name, None)
                else:
                    rows[name] = change.row
            terms = self._effective(rows, gate)
            if terms != steps[-1].terms:
                steps.append(Step(commit.index, begun(commit), done(commit), terms))
        return steps

    def _effective(self, rows: dict[tuple, dict], gate: tuple) -> Terms:
        """What is NULL is inherited; a pause is that of the first row."""
        found = [rows[name] for name in _candidates(gate) if name in rows]
        if not found:
            return _FREE
        merged = {column: value for row in reversed(found) for column, value in row.items() if value is not None}
        return self._read(gate[0], merged | {pause: found[0].get(pause) for pause in ("paused", "paused_until")})


def begun(commit: Commit) -> float:
    """A time before which a commit held for nobody."""
    return commit.transaction.sent if commit.transaction else -NEVER


def done(commit: Commit) -> float:
    """A time since which a commit held for everybody."""
    transaction = commit.transaction
    if transaction is None:
        return NEVER
    return transaction.ended + (SOON if transaction.outcome == "unknown" else 0)


def terms_of(table: str, row: dict) -> Terms:
    limit = _number(row.get(_LIMIT[table]))
    limit = NEVER if limit is None else limit
    not_open = table == "batch" and row.get("opened_at") is None
    if str(row.get("paused")).lower() == "true" or row.get("stops") is not None or not_open:
        limit = 0
    until, rate = row.get("paused_until"), _number(row.get("rate"))
    until = -NEVER if until is None else datetime.fromisoformat(until).timestamp()
    if rate is not None:
        rate = (rate, _microseconds(row.get("rate_per") or "00:00:01"), int(row.get("burst") or 1))
    certain = until == -NEVER and rate is None
    return Terms(limit, limit if certain else 0, until, rate)


def bound_of(table: str, row: dict) -> Terms:
    """How many jobs may wait, as a limit."""
    most = _number(row.get("max_waiting"))
    return _FREE if most is None else Terms(most, most)


def _number(value) -> int | None:
    return None if value is None or int(value) == -1 else int(value)


def _microseconds(interval: str) -> int:
    hours, minutes, seconds = interval.split(":")
    return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1_000_000)


def _candidates(gate: tuple) -> list[tuple]:
    table, *key = gate
    if table == "account":
        return [gate, (table, key[0], "*"), (table, "*", "*")]
    return [gate, (table, "*")]
