"""Reads what test_decoding writes: the commits in their order, with the rows that each has changed."""

import re
from datetime import datetime
from operator import itemgetter
from sys import intern

from histories.model import Change, Commit, Job, Setting
from support.settings import KEYS

_ANY = r"(?:'[^']*(?:''[^']*)*'|[^ ]+)"
_COLUMN = re.compile(rf'(\w+)"?\[([^:]+)\]:({_ANY})')
_END = re.compile(r"COMMIT (\d+) \(at (.*)\)")
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\v": "\v"}


def read_stream(lines) -> list[Commit]:
    """The commits of the lines that `COPY … TO` gave of pg_logical_slot_get_changes."""
    stream = Stream()
    for line in lines:
        line = line.rstrip("\n")
        if "\\" in line:
            line = re.sub(r"\\[\\ntrbfv]", lambda found: _ESCAPES[found[0]], line)
        if line.startswith("table turnstile."):
            stream.change(line)
        elif line.startswith("BEGIN "):
            stream.begin(int(line[6:]))
        elif found := _END.match(line):
            stream.end(time_of(found[2]))
    return stream.commits


class Stream:
    """What was read so far: the commits, and the jobs that are live after them."""

    def __init__(self):
        self.commits: list[Commit] = []
        self._commit: Commit | None = None
        self._live: dict[int, Job] = {}
        self._rows: dict[str, Rows] = {}

    def begin(self, xid: int) -> None:
        self._commit = Commit(len(self.commits), xid, 0.0)

    def end(self, at: float) -> None:
        self._commit.at = at
        self.commits.append(self._commit)

    def change(self, line: str) -> None:
        table, operation, _ = line.removeprefix("table turnstile.").split(": ", 2)
        if table == "job":
            self._change_job(operation, line)
        elif table.startswith("job_history") and operation == "INSERT":
            self._commit.finished.append(self._job(table, line))
        elif table == "paused_session":
            if operation != "DELETE":
                row = columns(line)
                self._commit.settings.append(Setting(table, (row["queue"], row["tenant"], row["session"]), row))
        elif table in KEYS:
            row = columns(line)
            key = tuple(row[name] for name in KEYS[table])
            self._commit.settings.append(Setting(table, key, None if operation == "DELETE" else row))

    def _change_job(self, operation: str, line: str) -> None:
        if operation == "DELETE":
            job_id, new = int(columns(line)["id"]), None
            old = self._live.pop(job_id, None)
        else:
            new = self._job("job", line)
            job_id, old = new.id, self._live.get(new.id)
            self._live[job_id] = new
        self._commit.changes.append(Change(self._commit, job_id, old, new))

    def _job(self, table: str, line: str) -> Job:
        if table not in self._rows:
            self._rows[table] = Rows(line)
        return self._rows[table].job(line)


class Rows:
    """Reads jobs from lines that all have the columns of the first one."""

    def __init__(self, line: str):
        found = [(name, kind) for name, kind, _ in _COLUMN.findall(line.split(": ", 2)[2])]
        parts = [rf'"?{name}"?\[{re.escape(kind)}\]:' + (f"({_ANY})" if name in Job._fields else _ANY) for name, kind in found]
        asked = [name for name, _ in found if name in Job._fields]
        self._match = re.compile(" ".join(parts)).search
        self._read = [_READ.get(name, _read_text) for name in asked]
        # What the table has no column for is last.
        self._ordered = itemgetter(*[asked.index(name) if name in asked else -1 for name in Job._fields])

    def job(self, line: str) -> Job:
        texts = self._match(line).groups()
        values = [read(text) for read, text in zip(self._read, texts, strict=True)]
        return Job._make(self._ordered([*values, None]))


def columns(line: str) -> dict[str, str | None]:
    """The columns of a row, the new ones where a key has changed."""
    if "new-tuple:" in line:
        line = line.split("new-tuple:", 1)[1]
    return {name: _plain(text) for name, _, text in _COLUMN.findall(line)}


def _plain(text: str) -> str | None:
    if text[0] == "'":
        return intern(text[1:-1].replace("''", "'"))
    if text == "unchanged-toast-datum":
        raise ValueError("what the rules ask about is too short to be stored out of line")
    return None if text == "null" else text


def time_of(text: str) -> float:
    if "infinity" in text:
        return float(text.replace("infinity", "inf"))
    return datetime.fromisoformat(text).timestamp()


class Memo(dict):
    """What a function makes of texts, made once for each of them."""

    def __init__(self, make):
        super().__init__()
        self._make = make

    def __missing__(self, text: str):
        self[text] = made = None if text == "null" else self._make(text)
        return made


_read_text = Memo(_plain).__getitem__
_READ = (
    {"id": int, "position": int, "holds_session": "true".__eq__}
    | dict.fromkeys(["priority", "attempt", "max_attempts", "uncounted", "parent", "claim_epoch"], Memo(int).__getitem__)
    | dict.fromkeys(
        ["run_at", "claimed_at", "lease_expires_at", "unique_until", "created_at"],
        Memo(lambda text: time_of(text[1:-1])).__getitem__,
    )
)
