"""Enqueues on the caller's own connection, in its transaction: psycopg, SQLAlchemy (Connection, Session, and those of asyncio), Django.

Each function takes what the application has in its hands. Nothing is committed here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Callable, NamedTuple, Optional

# Arguments of turnstile.enqueue by their types, for statements of all drivers.
_TYPES = {
    "kind": "text", "payload": "jsonb", "queue": "text", "tenant": "text", "account": "text", "session": "text", "concurrency_key": "text",
    "priority": "int", "run_at": "timestamptz", "max_attempts": "int", "unique_key": "text", "unique_mode": "text", "unique_for": "interval",
    "metadata": "jsonb", "unique_by": "text[]", "parent": "bigint", "after": "bigint[]", "after_any_end": "boolean", "after_hold": "boolean",
    "children": "jsonb", "slots": "int", "rate": "int", "rate_per": "interval", "burst": "int", "max_failed": "int", "on_end": "text",
}  # fmt: skip
_JSON = {"payload", "metadata", "children"}


# What runs new jobs at once, in tests (turnstile_client.testing.inline).
inline: ContextVar[Optional[Callable[[Any], None]]] = ContextVar("inline", default=None)


def _ran_inline(conn: Any) -> None:
    run = inline.get()
    if run is not None:
        run(conn)


class Added(NamedTuple):
    id: int
    created: bool
    """False: id is that of the job that holds the unique key."""


def enqueue(conn: Any, kind: str, payload: Any = None, **options: Any) -> Added:
    """Adds a job. The options are the arguments of turnstile.enqueue."""
    [row] = _run(conn, *_call("enqueue_if_new", {"kind": kind, "payload": payload, **options}))
    _ran_inline(conn)
    return Added(*row)


def enqueue_many(conn: Any, jobs: Iterable[dict[str, Any]]) -> list[Added]:
    """Adds all of the jobs or none. Each is a dict of the arguments of turnstile.enqueue."""
    added = [Added(id, created) for _, id, created in _run(conn, *_many(jobs))]
    _ran_inline(conn)
    return added


def enqueue_batch(conn: Any, kind: str, payload: Any = None, children: Sequence[dict[str, Any]] = (), **options: Any) -> int:
    """Adds a job that runs when its children have ended, and returns its id."""
    given = {"kind": kind, "payload": payload, "children": [_element(child) for child in children], **options}
    [(job_id,)] = _run(conn, *_call("enqueue_batch", given))
    _ran_inline(conn)
    return int(job_id)


async def async_enqueue(conn: Any, kind: str, payload: Any = None, **options: Any) -> Added:
    [row] = await _run_async(conn, *_call("enqueue_if_new", {"kind": kind, "payload": payload, **options}))
    return Added(*row)


async def async_enqueue_many(conn: Any, jobs: Iterable[dict[str, Any]]) -> list[Added]:
    return [Added(id, created) for _, id, created in await _run_async(conn, *_many(jobs))]


async def async_enqueue_batch(conn: Any, kind: str, payload: Any = None, children: Sequence[dict[str, Any]] = (), **options: Any) -> int:
    given = {"kind": kind, "payload": payload, "children": [_element(child) for child in children], **options}
    [(job_id,)] = await _run_async(conn, *_call("enqueue_batch", given))
    return int(job_id)


class JobFailed(Exception):
    """The job that was waited for has ended otherwise than by completing."""

    def __init__(self, job_id: int, state: str, errors: Any) -> None:
        super().__init__(f"job {job_id} is {state}")
        self.job_id, self.state, self.errors = job_id, state, errors


_ENDED = """
SELECT state, result, errors FROM turnstile.my_jobs WHERE id = :id AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1
"""
_WAIT = "CALL turnstile.wait_for_end(:id, :timeout)"
# A call sleeps for no longer in the server.
_STRETCH = 60.0


def await_result(conn: Any, job_id: int, timeout: float = 60) -> Any:
    """Waits until the job has ended and returns its result. The connection must be in autocommit mode and may see the job.

    JobFailed: it was discarded or cancelled. TimeoutError: it has not ended within so many seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        rows = _run(conn, _ENDED, {"id": job_id})
        left = deadline - time.monotonic()
        if rows or left <= 0:
            return _result_of(job_id, rows)
        _run(conn, _WAIT, {"id": job_id, "timeout": timedelta(seconds=min(left, _STRETCH))})


async def async_await_result(conn: Any, job_id: int, timeout: float = 60) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        rows = await _run_async(conn, _ENDED, {"id": job_id})
        left = deadline - time.monotonic()
        if rows or left <= 0:
            return _result_of(job_id, rows)
        await _run_async(conn, _WAIT, {"id": job_id, "timeout": timedelta(seconds=min(left, _STRETCH))})


def _result_of(job_id: int, rows: list[Any]) -> Any:
    if not rows:
        raise TimeoutError(f"job {job_id} has not ended")
    state, result, errors = rows[0]
    if state != "completed":
        raise JobFailed(job_id, state, errors)
    return result


# ---- statements, with parameters as :name


def _call(function: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    unknown = given.keys() - _TYPES.keys()
    if unknown:
        raise TypeError(f"turnstile.enqueue has no argument {', '.join(sorted(unknown))}")
    values = {name: _value(name, value) for name, value in given.items() if value is not None}
    arguments = ", ".join(f"{name} => CAST(:{name} AS {_TYPES[name]})" for name in values)
    return f"SELECT * FROM turnstile.{function}({arguments})", values


def _many(jobs: Iterable[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return "SELECT ord, id, created FROM turnstile.enqueue_many(CAST(:jobs AS jsonb))", {"jobs": json.dumps([_element(job) for job in jobs])}


def _value(name: str, value: Any) -> Any:
    return json.dumps(value) if name in _JSON else value


def _element(job: dict[str, Any]) -> dict[str, Any]:
    return {name: _in_json(value) for name, value in job.items() if value is not None}


def _in_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return f"{value.total_seconds()} seconds" if isinstance(value, timedelta) else value


# ---- drivers, told apart by what they are and not by importing them

Parameters = dict[str, Any]


def _of_psycopg(text: str, given: Parameters) -> str:
    # Longest first: :parent is no :p.
    for name in sorted(given, key=len, reverse=True):
        text = text.replace(f":{name}", f"%({name})s")
    return text


def _run(conn: Any, text: str, given: Parameters) -> list[Any]:
    module = type(conn).__module__
    if module.startswith("sqlalchemy"):
        found = conn.execute(_sqlalchemy_text(text), given)
        return [tuple(row) for row in found] if found.returns_rows else []
    # Django's connection, and psycopg's connections and cursors of any row factory.
    with conn.cursor(**_plain(conn)) as cursor:
        cursor.execute(_of_psycopg(text, given), given)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


async def _run_async(conn: Any, text: str, given: Parameters) -> list[Any]:
    if type(conn).__module__.startswith("sqlalchemy"):
        found = await conn.execute(_sqlalchemy_text(text), given)
        return [tuple(row) for row in found] if found.returns_rows else []
    async with conn.cursor(**_plain(conn)) as cursor:
        await cursor.execute(_of_psycopg(text, given), given)
        return [tuple(row) for row in await cursor.fetchall()] if cursor.description else []


def _plain(conn: Any) -> dict[str, Any]:
    if not type(conn).__module__.startswith("psycopg."):
        return {}
    from psycopg.rows import tuple_row

    return {"row_factory": tuple_row}


def _sqlalchemy_text(text: str) -> Any:
    from sqlalchemy import text as make

    return make(text)


