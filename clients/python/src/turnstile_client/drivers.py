"""Statements on the caller's own connection, in its transaction, whatever it is: psycopg, SQLAlchemy (Connection, Session, and those of
asyncio), Django. They are told apart by what they are, and not by importing them.

Statements have their parameters as :name. JSON goes and comes as text, since drivers differ in how they read it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any, Callable

Parameters = dict[str, Any]
Rows = list[tuple[Any, ...]]
Driver = Callable[[Any, str, Parameters], Awaitable[Rows]]

_PARAMETER = re.compile(r"(?<!:):(\w+)")


async def blocking_rows(conn: Any, text: str, given: Parameters) -> Rows:
    """It never suspends: for io.blocking."""
    if _is_of(conn, "sqlalchemy"):
        found = conn.execute(_sqlalchemy(text), given)
        return [tuple(row) for row in found] if found.returns_rows else []
    with conn.cursor(**_plain_rows(conn)) as cursor:
        cursor.execute(_psycopg(text), given)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


async def async_rows(conn: Any, text: str, given: Parameters) -> Rows:
    if _is_of(conn, "sqlalchemy"):
        found = await conn.execute(_sqlalchemy(text), given)
        return [tuple(row) for row in found] if found.returns_rows else []
    async with conn.cursor(**_plain_rows(conn)) as cursor:
        await cursor.execute(_psycopg(text), given)
        return [tuple(row) for row in await cursor.fetchall()] if cursor.description else []


def _is_of(conn: Any, package: str) -> bool:
    """Whether its class is of the package, or derives from one that is."""
    return any(each.__module__.split(".", 1)[0] == package for each in type(conn).__mro__)


def _psycopg(text: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", text)


def _sqlalchemy(text: str) -> Any:
    from sqlalchemy import text as made

    return made(text)


def _plain_rows(conn: Any) -> dict[str, Any]:
    """Whatever rows the caller wants for itself."""
    if not _is_of(conn, "psycopg"):
        return {}
    from psycopg.rows import tuple_row

    return {"row_factory": tuple_row}
