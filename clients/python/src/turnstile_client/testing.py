"""For tests: all in one transaction that is rolled back in the end, by turnstile.claim_own.

The connection is whatever the application enqueues with: see turnstile_client.drivers.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, Optional

from turnstile_client import producer
from turnstile_client.base import Handlers
from turnstile_client.drivers import Driver, async_rows, blocking_rows
from turnstile_client.io import blocking
from turnstile_client.options import to_json
from turnstile_client.outcome import (
    AWAIT,
    COMPLETE,
    DISCARD,
    FAIL,
    RELEASE,
    SNOOZE,
    Ending,
    RetryRules,
    checked_rules,
    ending_of_error,
    ending_of_result,
    with_text,
)
from turnstile_client.run import Job, Run
from turnstile_client.statements import JOB

AnyHandlers = Mapping[str, Callable[[Any], Any]]

_CLAIM = "SELECT {} FROM turnstile.claim_own(CAST(:queues AS text[]))".format(JOB)
_RUN = "CAST(:id AS bigint), CAST(:attempt AS int)"
_ENDS = {
    COMPLETE: f"SELECT turnstile.complete({_RUN}, CAST(:result AS jsonb))",
    FAIL: f"SELECT turnstile.fail({_RUN}, CAST(:error AS text), CAST(:time AS interval), error_class => CAST(:error_class AS text))",
    DISCARD: f"SELECT turnstile.fail({_RUN}, CAST(:error AS text), discard => true, error_class => CAST(:error_class AS text))",
    SNOOZE: f"SELECT turnstile.snooze({_RUN}, CAST(:time AS interval))",
    RELEASE: f"SELECT turnstile.release({_RUN})",
    AWAIT: f"SELECT turnstile.await_children({_RUN})",
}
_ARGUMENTS = {COMPLETE: ("result",), FAIL: ("error", "time", "error_class"), DISCARD: ("error", "error_class"), SNOOZE: ("time",)}


def drain(
    conn: Any, handlers: AnyHandlers, queues: Sequence[str] = ("*",), *, retry: Optional[RetryRules] = None, raises: bool = True, most: int = 10_000
) -> list[Job]:
    """Runs the jobs that this transaction has enqueued, one after the other, and those that come of them. Returns them in order.

    raises: an exception of a handler is raised here. False: it fails the run, as a worker would have it; a job that is to be retried
    later stays.
    most: more runs are an endless loop, and an AssertionError.
    """
    return blocking(_drain(blocking_rows, conn, handlers, queues, retry, raises, most))


async def async_drain(
    conn: Any, handlers: AnyHandlers, queues: Sequence[str] = ("*",), *, retry: Optional[RetryRules] = None, raises: bool = True, most: int = 10_000
) -> list[Job]:
    """The same on a connection of asyncio. Handlers may be coroutines."""
    return await _drain(async_rows, conn, handlers, queues, retry, raises, most)


async def _drain(
    rows: Driver, conn: Any, handlers: AnyHandlers, queues: Sequence[str], retry: Optional[RetryRules], raises: bool, most: int
) -> list[Job]:
    known, rules, done = Handlers(handlers), checked_rules(retry), []
    while found := await rows(conn, _CLAIM, {"queues": list(queues)}):
        job = Job.of(found[0])
        done.append(job)
        assert len(done) <= most, f"more than {most} runs: does a job add itself again?"
        try:
            result = known.of(job.kind)(_TestRun(job))
            ending = ending_of_result(await result if inspect.isawaitable(result) else result)
        except Exception as error:
            ending = ending_of_error(error, rules)
            if raises and ending.verb in (FAIL, DISCARD):
                raise
        told = with_text(ending, to_json)
        assert not raises or told.verb == ending.verb, told.error
        await _end(rows, conn, job, told)
    return done


class _TestRun(Run):
    """Nobody stops it."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, lambda *_: None)


async def _end(rows: Driver, conn: Any, job: Job, ending: Ending) -> None:
    known = {"result": ending.text, "error": ending.error, "time": ending.time, "error_class": ending.error_class}
    arguments = {name: known[name] for name in _ARGUMENTS.get(ending.verb, ())}
    await rows(conn, _ENDS[ending.verb], {"id": job.id, "attempt": job.attempt, **arguments})


# ---- what was enqueued

_COLUMNS = ("id", "kind", "payload", "queue", "tenant", "account", "session", "concurrency_key", "priority", "run_at", "max_attempts",
            "unique_key", "metadata", "parent", "state")  # fmt: skip
_ENQUEUED = """
SELECT {} FROM turnstile.my_jobs WHERE finished_at IS NULL AND (CAST(:kind AS text) IS NULL OR kind = CAST(:kind AS text))
    AND (CAST(:payload AS jsonb) IS NULL OR payload @> CAST(:payload AS jsonb))
ORDER BY position
""".format(", ".join(f"CAST({name} AS text)" if name in ("payload", "metadata") else name for name in _COLUMNS))
_ALL = "SELECT kind, CAST(payload AS text) FROM turnstile.my_jobs WHERE finished_at IS NULL ORDER BY position LIMIT 20"


def enqueued(conn: Any, kind: Optional[str] = None, payload: Any = None, **columns: Any) -> list[dict[str, Any]]:
    """The live jobs of a kind, or of any. payload: those whose payload contains this. Other columns: equal to this."""
    return blocking(_enqueued(blocking_rows, conn, kind, payload, columns))


def assert_enqueued(conn: Any, kind: Optional[str] = None, payload: Any = None, count: Optional[int] = None, **columns: Any) -> list[dict[str, Any]]:
    """Fails unless there is such a job, or there are so many of them. Returns them."""
    return blocking(_assert_enqueued(blocking_rows, conn, kind, payload, count, columns))


async def async_assert_enqueued(
    conn: Any, kind: Optional[str] = None, payload: Any = None, count: Optional[int] = None, **columns: Any
) -> list[dict[str, Any]]:
    return await _assert_enqueued(async_rows, conn, kind, payload, count, columns)


async def _enqueued(rows: Driver, conn: Any, kind: Optional[str], payload: Any, columns: dict[str, Any]) -> list[dict[str, Any]]:
    unknown = columns.keys() - set(_COLUMNS)
    if unknown:
        raise TypeError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(_COLUMNS)}")
    contained = None if payload is None else json.dumps(payload)
    found = [dict(zip(_COLUMNS, row)) for row in await rows(conn, _ENQUEUED, {"kind": kind, "payload": contained})]
    for job in found:
        job["payload"], job["metadata"] = json.loads(job["payload"]), json.loads(job["metadata"] or "null")
    return [job for job in found if all(job[name] == value for name, value in columns.items())]


async def _assert_enqueued(
    rows: Driver, conn: Any, kind: Optional[str], payload: Any, count: Optional[int], columns: dict[str, Any]
) -> list[dict[str, Any]]:
    found = await _enqueued(rows, conn, kind, payload, columns)
    if not found if count is None else len(found) != count:
        wanted = "a job" if count is None else f"{count} jobs"
        about = {"kind": kind, "payload": payload, **columns}
        raise AssertionError(
            f"expected {wanted} with { ({name: value for name, value in about.items() if value is not None}) }, found {len(found)};"
            f" there are {await rows(conn, _ALL, {})}"
        )
    return found


@contextlib.contextmanager
def inline(handlers: AnyHandlers) -> Iterator[None]:
    """Within it enqueue, enqueue_many, enqueue_batch, and those of asyncio, run the jobs at once, in the caller's transaction."""
    is_running = False

    async def run(rows: Driver, conn: Any) -> None:
        # What a handler enqueues is run by the loop that runs the handler.
        nonlocal is_running
        if not is_running:
            is_running = True
            try:
                await _drain(rows, conn, handlers, ("*",), None, True, 10_000)
            finally:
                is_running = False

    token = producer.inline.set(run)
    try:
        yield
    finally:
        producer.inline.reset(token)
