"""Adds jobs on the caller's own connection, in its transaction. Nothing is committed here.

Each function takes what the application has in its hands: see turnstile_client.drivers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from turnstile_client.drivers import Driver, async_rows, blocking_rows
from turnstile_client.io import blocking
from turnstile_client.options import JobSpec, call, element, many

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from turnstile_client.options import BatchOptions, JobOptions

# What runs new jobs at once, in tests (turnstile_client.testing.inline).
inline: ContextVar[Optional[Callable[[Driver, Any], Awaitable[None]]]] = ContextVar("inline", default=None)


class Added(NamedTuple):
    id: int
    created: bool
    """False: id is that of the job that holds the unique key."""


def enqueue(conn: Any, kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Added:
    """Adds a job. The options are the arguments of turnstile.enqueue."""
    return blocking(_enqueue(blocking_rows, conn, {"kind": kind, "payload": payload, **options}))


def enqueue_many(conn: Any, jobs: Iterable[JobSpec]) -> list[Added]:
    """Adds all of the jobs or none. Each is a dict of the arguments of turnstile.enqueue."""
    return blocking(_enqueue_many(blocking_rows, conn, jobs))


def enqueue_batch(conn: Any, kind: str, payload: Any = None, children: Sequence[JobSpec] = (), **options: Unpack[BatchOptions]) -> int:
    """Adds a job that runs when its children have ended, and returns its id."""
    return blocking(_enqueue_batch(blocking_rows, conn, children, {"kind": kind, "payload": payload, **options}))


async def async_enqueue(conn: Any, kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Added:
    return await _enqueue(async_rows, conn, {"kind": kind, "payload": payload, **options})


async def async_enqueue_many(conn: Any, jobs: Iterable[JobSpec]) -> list[Added]:
    return await _enqueue_many(async_rows, conn, jobs)


async def async_enqueue_batch(conn: Any, kind: str, payload: Any = None, children: Sequence[JobSpec] = (), **options: Unpack[BatchOptions]) -> int:
    return await _enqueue_batch(async_rows, conn, children, {"kind": kind, "payload": payload, **options})


async def _enqueue(rows: Driver, conn: Any, given: dict[str, Any]) -> Added:
    [row] = await rows(conn, *call("enqueue_if_new", given))
    await _ran_inline(rows, conn)
    return Added(*row)


async def _enqueue_many(rows: Driver, conn: Any, jobs: Iterable[JobSpec]) -> list[Added]:
    added = [Added(*row) for row in await rows(conn, *many(jobs))]
    await _ran_inline(rows, conn)
    return added


async def _enqueue_batch(rows: Driver, conn: Any, children: Sequence[JobSpec], given: dict[str, Any]) -> int:
    [(job_id,)] = await rows(conn, *call("enqueue_batch", {**given, "children": [element(child) for child in children]}))
    await _ran_inline(rows, conn)
    return int(job_id)


async def _ran_inline(rows: Driver, conn: Any) -> None:
    run = inline.get()
    if run is not None:
        await run(rows, conn)
