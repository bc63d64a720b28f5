"""What the ways through the script must have in common, made comparable: no ids, no times, no numbers of positions."""

import hashlib
import json
from collections import Counter
from datetime import datetime, timedelta

TIMES = set(
    "run_at lease_expires_at owner_started_at claimed_at first_started_at cancel_requested_at unique_until created_at finished_at noted_at".split()
)
LINES = 30


def _time(value: str, at: datetime) -> str:
    """Whether it has come."""
    time = datetime.fromisoformat(value)
    if time > at + timedelta(days=30):
        return "far"
    return "ahead" if time > at else "past"


def _short(value):
    """A long value by its hash."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return value if len(text) < 200 else f"{len(text)} {hashlib.md5(text.encode()).hexdigest()}"


class Account:
    """What one way has left behind. `volatile`: columns of users whose values come of chance, or of a count: only which are the
    same tells something. They are named in the order in which they are met, which is the same in all ways."""

    def __init__(self, volatile: set[str], pid: int):
        self.volatile = volatile
        # (step, table, operation) of what was really done to rows, as plain SQL knows.
        self.changed: set[tuple[str, str, str]] = set()
        self.pid = pid
        self.names: dict[tuple[str, str], str] = {}
        self.labels: dict[int, str] = {}
        self.answers: list[tuple[str, object]] = []
        self.tables: dict[str, list[str]] = {}
        self.effects: dict[str, Counter] = {}
        self.statements: dict[str, set] = {}
        self.problems: list[str] = []
        self.skipped: list[str] = []

    def _of_chance(self, column: str, value) -> str:
        return self.names.setdefault((column, json.dumps(value)), f"{column} {len(self.names) + 1}")

    def row(self, row: dict, at: datetime) -> dict:
        """A row of a job without what differs from one time to the next."""
        plain = {}
        for column, value in row.items():
            if value is None or isinstance(value, bool):
                pass
            elif column in TIMES:
                value = _time(value, at)
            elif column == "waited":
                value = "for a while"
            elif column == "owner_pid":
                value = "mine" if value == self.pid else "another's"
            elif column == "errors":
                value = [{name: said for name, said in each.items() if name != "at"} for each in value]
            elif column == "progress":
                value = {name: said for name, said in value.items() if name != "at"}
            elif column in self.volatile:
                value = self._of_chance(column, value)
            elif column == "job_id":
                value = self.labels.get(value, "an unknown job")
            elif not isinstance(value, int):
                value = _short(value)
            plain[column] = value
        if "id" in plain and "payload" in row:
            self.labels[row["id"]] = row["payload"]["job"]
            plain["id"] = row["payload"]["job"]
        return plain

    def look(self, point: str, rows: list[dict]) -> None:
        """The rows of both tables."""
        # Counted in each queue by itself: a trigger that enqueues elsewhere may do so between the rows of a statement or after them.
        places: dict[str, set[int]] = {}
        for row in rows:
            places.setdefault(row["row"]["queue"], set()).add(row["row"]["position"])
        ranks = {queue: sorted(taken) for queue, taken in places.items()}
        rows = sorted(rows, key=lambda row: (row["relation"], row["row"]["payload"]["job"], row["row"]["attempt"]))
        table = []
        for row in rows:
            place = ranks[row["row"]["queue"]].index(row["row"]["position"])
            table.append({"in": row["relation"]} | self.row(row["row"], row["at"]) | {"position": place})
        self.tables[f"jobs as of {point}"] = [json.dumps(row) for row in table]

    def effect(self, entry: dict) -> None:
        """What a trigger has noted: of a row, or that a statement was run."""
        what = f"{entry['trigger']} {entry['event']} on {entry['relation']}"
        step = entry["step"] or "before"
        if entry["old"] is None and entry["new"] is None:
            self.statements.setdefault(step, set()).add((what, entry["relation"], entry["event"].split()[1]))
            return
        rows = [entry["old"] and self.row(entry["old"], entry["at"]), entry["new"] and self.row(entry["new"], entry["at"])]
        for row in rows:
            if row:
                # Not settled before the extension's own trigger, which some fire before; and counted above.
                for column in ("lane", "lane_group", "position"):
                    row.pop(column, None)
        self.effects.setdefault(step, Counter())[f"{what}: {json.dumps(rows)}"] += 1

    def table(self, name: str, rows: list[dict], at: datetime) -> None:
        """One that is no partition may have jobs, too; how far positions were drawn ahead is no part of them."""
        plain = [self.row(row, at) for row in rows]
        self.tables[name] = sorted(json.dumps({column: value for column, value in row.items() if column != "position"}) for row in plain)


def differences(plain: Account, other: Account, of_statements: set[str]) -> list[str]:
    """Where a way by verbs differs from plain SQL. `of_statements`: SQLSTATEs of statements that need not find a row."""
    found = _of_answers(plain, other, of_statements)
    if found:
        return found
    for name, rows in plain.tables.items():
        found += _of_rows(name, Counter(rows), Counter(other.tables.get(name, [])))
    for step in sorted({*plain.effects, *other.effects}):
        found += _of_rows(step, plain.effects.get(step, Counter()), other.effects.get(step, Counter()))
    for step in sorted({*plain.statements, *other.statements}):
        expected, seen = (_with_rows(account.statements.get(step, set()), step, plain.changed) for account in (plain, other))
        found += _of_rows(f"{step}, triggers of statements", Counter(expected), Counter(seen))
    return found[:LINES]


def _of_answers(plain: Account, other: Account, of_statements: set[str]) -> list[str]:
    """The first answer that differs; whatever follows does so for that."""
    done = {step for step, _, _ in plain.changed}
    for (step, expected), (_, said) in zip(plain.answers, other.answers, strict=False):
        may_be = said == expected
        if isinstance(said, frozenset):
            # Where plain SQL has nothing to change a verb may still run the statement that would change it.
            may_be = said <= (expected if isinstance(expected, frozenset) else set()) or (
                said <= of_statements and step not in done
            )
        if not may_be:
            return [f"{step}: plain SQL says {_said(expected)}, this way says {_said(said)}"]
    return [] if len(plain.answers) == len(other.answers) else ["one way has more steps than the other"]


def _said(answer) -> str:
    return f"SQLSTATE {' or '.join(sorted(answer))}" if isinstance(answer, frozenset) else json.dumps(answer, default=str)


def _of_rows(where: str, expected: Counter, seen: Counter) -> list[str]:
    missing, more = expected - seen, seen - expected
    return [f"{where}: plain SQL has {row}" for row in missing] + [f"{where}: this way has {row}" for row in more]


def _with_rows(statements: set, step: str, changed: set) -> list[str]:
    """Of statements only that they were run where they change a row: one that finds none need not be run at all, nor be the only
    one to change several."""
    of_user = step.endswith("by hand")
    return [what for what, relation, operation in statements if of_user or (step, relation, operation) in changed]
