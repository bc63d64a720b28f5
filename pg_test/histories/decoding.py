"""Reads what test_decoding writes: the commits in their order, with the rows that each has changed."""

import re
from datetime import datetime
from sys import intern

from histories.model import Change, Commit, Job, Setting
from support.settings import KEYS

_COLUMN = re.compile(r"(\w+)\"?\[[^:]+\]:('(?:[^']|'')*'|\S+)")
_END = re.compile(r"COMMIT (\d+) \(at (.*)\)")
_LINE = re.compile(r"table turnstile\.(\w+): (INSERT|UPDATE|DELETE): ")
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\v": "\v"}
_WHOLE = {"id", "priority", "position", "attempt", "max_attempts", "uncounted"}
_TIMES = {"run_at", "claimed_at", "lease_expires_at", "unique_until", "created_at"}


def read_stream(lines) -> list[Commit]:
    """The commits of the lines that `COPY … TO` gave of pg_logical_slot_get_changes."""
    commits, live, commit = [], {}, None
    for line in lines:
        line = line.rstrip("\n")
        if "\\" in line:
            line = re.sub(r"\\[\\ntrbfv]", lambda found: _ESCAPES[found[0]], line)
        if line.startswith("table turnstile."):
            _apply(commit, live, line)
        elif line.startswith("BEGIN "):
            commit = Commit(len(commits), int(line[6:]), 0.0)
        elif found := _END.match(line):
            commit.at = time_of(found[2])
            commits.append(commit)
    return commits


def _apply(commit: Commit, live: dict[int, Job], line: str) -> None:
    found = _LINE.match(line)
    if not found:
        return
    table, operation = found.groups()
    if table == "job":
        _apply_job(commit, live, operation, columns(line))
    elif table.startswith("job_history") and operation == "INSERT":
        commit.finished.append(job_of(columns(line), None))
    elif table == "paused_session":
        if operation != "DELETE":
            row = columns(line)
            commit.settings.append(Setting(table, (row["queue"], row["tenant"], row["session"]), row))
    elif table in KEYS:
        row = columns(line)
        key = tuple(row[name] for name in KEYS[table])
        commit.settings.append(Setting(table, key, None if operation == "DELETE" else row))


def _apply_job(commit: Commit, live: dict[int, Job], operation: str, row: dict) -> None:
    job_id = int(row["id"])
    old = live.get(job_id)
    new = None if operation == "DELETE" else job_of(row, old)
    if new is None:
        live.pop(job_id, None)
    else:
        live[job_id] = new
    commit.changes.append(Change(commit, job_id, old, new))


def columns(line: str) -> dict[str, str | None]:
    """The columns of a row, the new ones where a key has changed."""
    if "new-tuple:" in line:
        line = line.split("new-tuple:", 1)[1]
    return {name: _value(text) for name, text in _COLUMN.findall(line)}


def _value(text: str) -> str | None:
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return None if text == "null" else text


def job_of(row: dict, old: Job | None) -> Job:
    return Job(**{name: _typed(name, row.get(name), old) for name in Job._fields})


def _typed(name: str, text: str | None, old: Job | None):
    if text is None:
        return None
    if text == "unchanged-toast-datum":
        return getattr(old, name)
    if name in _WHOLE:
        return int(text)
    if name in _TIMES:
        return time_of(text)
    if name == "holds_session":
        return text == "true"
    return intern(text)


def time_of(text: str) -> float:
    if "infinity" in text:
        return float(text.replace("infinity", "inf"))
    return datetime.fromisoformat(text).timestamp()
