"""Runs the SQL files of bench/sql."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.sql import SQL as Statement
from psycopg.sql import Identifier

from lib.project import SQL


def _text(file: str) -> str:
    return (SQL / file).read_text()


class Database:
    def __init__(self, name: str | None = None):
        self.name = name
        self.connection = psycopg.connect(dbname=name, autocommit=True)

    def run(self, file: str, **values: Any) -> psycopg.Cursor:
        return self.connection.execute(_text(file), values or None)

    def rows(self, file: str, **values: Any) -> list[tuple]:
        return self.run(file, **values).fetchall()

    def value(self, file: str, **values: Any) -> Any:
        return self.run(file, **values).fetchone()[0]

    def checkpoint(self) -> None:
        self.connection.execute("CHECKPOINT")

    def close(self) -> None:
        self.connection.close()


def fresh_database(*folders: str, name: str | None = None) -> Database:
    """Installs Turnstile and the tables of the named folders of bench/sql; refuses to measure among real jobs."""
    database = Database(name)
    database.run("turnstile/install.sql")
    if database.value("turnstile/has_jobs.sql"):
        sys.exit("this database holds jobs; the benchmarks need an empty one of their own")
    database.run("common/create_schema.sql")
    for folder in folders:
        database.run(f"{folder}/install.sql")
    return database


@contextmanager
def own_database(name: str) -> Iterator[Database]:
    """A fresh database of this name, which is gone afterwards."""
    server = Database()
    server.connection.execute(Statement("CREATE DATABASE {}").format(Identifier(name)))
    database = fresh_database(name=name)
    try:
        yield database
    finally:
        database.close()
        server.connection.execute(Statement("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
        server.close()
