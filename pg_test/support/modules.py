"""Contrib modules, which the servers of some versions come without: see docs/testing.md."""

import pytest
from psycopg.errors import UndefinedFile


def is_available(conn, name: str) -> bool:
    (found,) = conn.execute("SELECT count(*) FROM pg_available_extensions WHERE name = %s", [name]).fetchone()
    return found > 0


def has_module(conn, name: str) -> bool:
    """Whether the database has the module now."""
    if is_available(conn, name):
        conn.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
        return True
    return False


def must_be_available(conn, name: str) -> None:
    if not is_available(conn, name):
        pytest.skip(f"this server has no {name}")


def need_module(conn, name: str) -> None:
    must_be_available(conn, name)
    has_module(conn, name)


def load(conn, library: str) -> None:
    """For a library that is no extension."""
    try:
        conn.execute(f"LOAD '{library}'")
    except UndefinedFile:
        pytest.skip(f"this server has no {library}")
