"""A queue under test: a folder of bench/sql that knows how to fill, count, vacuum and load it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lib.database import Database
from lib.project import SQL

PAYLOAD_BYTES = 200
ROWS_PER_FILL = 50_000


def payload() -> str:
    frame = '{"data": ""}'
    return frame[:-2] + "x" * (PAYLOAD_BYTES - len(frame)) + frame[-2:]


@dataclass(frozen=True)
class Queue:
    database: Database
    folder: str
    names: dict[str, Any] = field(default_factory=dict)

    def script(self, name: str) -> Path:
        return SQL / self.folder / f"{name}.pgbench"

    def waiting(self) -> int:
        return self.database.value(f"{self.folder}/waiting.sql", **self.names)

    def finished(self) -> int:
        return self.database.value(f"{self.folder}/finished.sql", **self.names)

    def dead_rows(self) -> int:
        return self.database.value(f"{self.folder}/dead_rows.sql")

    def fill_to(self, jobs: int) -> None:
        for first in range(self.waiting() + 1, jobs + 1, ROWS_PER_FILL):
            last = min(first + ROWS_PER_FILL - 1, jobs)
            self.database.run(f"{self.folder}/fill.sql", first=first, last=last, payload=payload(), **self.names)

    def settle(self) -> None:
        """Finishes what a load has left running, so that no lease ends in a later slice."""
        if (SQL / self.folder / "settle.sql").exists():
            self.database.run(f"{self.folder}/settle.sql", **self.names)

    def vacuum(self) -> None:
        self.database.run(f"{self.folder}/vacuum.sql")


def bare_kept(database: Database) -> Queue:
    return Queue(database, "bare_kept")


def bare_deleted(database: Database) -> Queue:
    return Queue(database, "bare_deleted")


def filtered(database: Database, queue: str, tenant: str) -> Queue:
    return Queue(database, "filtered", {"queue": queue, "tenant": tenant})


def turnstile(database: Database, queue: str = "default", tenant: str | None = None, sessions: int = 0) -> Queue:
    return Queue(database, "turnstile", {"queue": queue, "tenant": tenant, "sessions": sessions})
