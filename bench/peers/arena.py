"""The databases of the contenders: made once each, then copied for every scenario."""

import subprocess
import sys
from pathlib import Path
from time import monotonic

import psycopg
from psycopg import sql

from lib.queues import ROWS_PER_FILL, payload
from peers.contender import Contender

RUNNERS = {".sh": ["bash"], ".py": [sys.executable], ".mjs": ["node"]}
PART_SECONDS = 120
FILL_SECONDS = 1_800


class Unable(Exception):
    """A contender cannot be measured: its figures say why."""


def command(file: Path) -> list[str]:
    return [*RUNNERS[file.suffix], str(file)]


def run_part(contender: Contender, file: Path, database: str, within: float = PART_SECONDS, **variables: str) -> str:
    """Runs a program of the contender to its end and returns what it printed."""
    done = subprocess.run(
        command(file),
        env=contender.environment(database) | variables,
        capture_output=True,
        text=True,
        timeout=within,
    )
    if done.returncode:
        raise Unable(f"{file.name}: {last_line(done.stderr or done.stdout)}")
    return done.stdout


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "no message")[:300]


class Database:
    """One database of a contender, with one connection to it for all that is not measured."""

    def __init__(self, contender: Contender, name: str, variant: str | None = None):
        self.contender = contender
        self.name = name
        self.variant = variant
        # How many jobs must always wait in it, if the scenario says so.
        self.backlog = 0
        # The client puts the values in, as a file may have several statements.
        self.connection = psycopg.connect(dbname=name, autocommit=True, cursor_factory=psycopg.ClientCursor)

    def run(self, file: str, **values) -> psycopg.Cursor:
        path = self.contender.file(file, self.variant)
        if path is None:
            raise Unable(f"{self.contender.name} has no {file}")
        return self.connection.execute(path.read_text(), values or None)

    def has(self, file: str) -> bool:
        return self.contender.file(file, self.variant) is not None

    def value(self, text: str):
        return self.connection.execute(text).fetchone()[0]

    def waiting(self) -> int:
        return self.run("waiting.sql").fetchone()[0]

    def fill_to(self, jobs: int) -> bool:
        """Whether anything was missing."""
        waiting = self.waiting()
        program = self.contender.file("fill.py", self.variant)
        if program and waiting < jobs:
            numbers = {"FIRST": str(waiting + 1), "LAST": str(jobs)}
            run_part(self.contender, program, self.name, FILL_SECONDS, PAYLOAD=payload(), **numbers)
            return True
        for first in range(waiting + 1, jobs + 1, ROWS_PER_FILL):
            last = min(first + ROWS_PER_FILL - 1, jobs)
            self.run("fill.sql", first=first, last=last, payload=payload())
        return waiting < jobs

    def expect_fill_within(self, seconds: float, jobs: int, probe: int) -> None:
        """Fills a little, and refuses to fill all if that would take too long."""
        missing = jobs - self.waiting()
        if missing <= 10 * probe:
            return
        begun = monotonic()
        self.fill_to(self.waiting() + probe)
        expected = (monotonic() - begun) * missing / probe
        if expected > seconds:
            raise Unable(
                f"not measured: to fill in {jobs:,} jobs would take about {expected:,.0f} s of the time allowed"
            )

    def fill_within(self, seconds: float, jobs: int) -> int:
        """As many as there is time for; returns how many wait."""
        ends = monotonic() + seconds
        for enough in range(ROWS_PER_FILL, jobs + ROWS_PER_FILL, ROWS_PER_FILL):
            self.fill_to(min(enough, jobs))
            if monotonic() > ends:
                break
        return self.waiting()

    def set(self, setting: str, value: int) -> None:
        self.connection.execute("SELECT set_config(%s, %s, false)", [setting, str(value)])

    def settle(self) -> None:
        if self.has("settle.sql"):
            self.run("settle.sql")

    def vacuum(self) -> None:
        self.connection.execute("VACUUM (ANALYZE)")
        self.connection.execute("CHECKPOINT")

    def close(self) -> None:
        self.connection.close()


class Arena:
    """Makes and drops databases; remembers which contenders could not be installed."""

    def __init__(self):
        self.connection: psycopg.Connection | None = None
        self.broken: dict[str, str] = {}
        self.installed: set[str] = set()

    @property
    def admin(self) -> psycopg.Connection:
        """Anew if the server has gone down in between: what comes next can still be measured."""
        if self.connection is None or self.connection.broken:
            self.connection = psycopg.connect(dbname="postgres", autocommit=True)
        return self.connection

    def database(self, contender: Contender, variant: str | None = None, suffix: str = "") -> Database:
        """A fresh copy of the contender's database."""
        self.install(contender)
        name = contender.database + suffix
        self.drop(name)
        self._create(name, template=self._template(contender))
        database = Database(contender, name, variant)
        if variant and (contender.folder / variant / "install.sql").exists():
            database.run("install.sql")
        return database

    def install(self, contender: Contender) -> None:
        if contender.name in self.broken:
            raise Unable(self.broken[contender.name])
        if contender.name in self.installed:
            return
        try:
            self._install(contender)
        except (Unable, psycopg.Error, OSError, subprocess.TimeoutExpired) as error:
            self.broken[contender.name] = f"not installed: {last_line(str(error))}"
            raise Unable(self.broken[contender.name]) from error
        self.installed.add(contender.name)

    def _install(self, contender: Contender) -> None:
        template = self._template(contender)
        self.drop(template)
        self._create(template)
        with psycopg.connect(dbname=template, autocommit=True) as connection:
            if own := contender.file("install.sql"):
                connection.execute(own.read_text())
        for suffix in RUNNERS:
            if part := contender.file(f"install{suffix}"):
                run_part(contender, part, template)

    def drop(self, name: str) -> None:
        self.admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _create(self, name: str, template: str = "template1") -> None:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self.admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))

    @staticmethod
    def _template(contender: Contender) -> str:
        return f"{contender.database}_template"
