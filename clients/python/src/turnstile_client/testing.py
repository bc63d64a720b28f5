"""For tests: all in one transaction that is rolled back in the end, by turnstile.claim_own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Callable, Optional

from psycopg.rows import dict_row

from turnstile_client import producer, statements
from turnstile_client.outcome import AWAIT, COMPLETE, DISCARD, FAIL, RELEASE, SNOOZE, Ending, RetryRules, ending_of_error, ending_of_result
from turnstile_client.run import Job, Run
from turnstile_client.worker import Handlers

_CLAIM = "SELECT * FROM turnstile.claim_own(%s::text[])"
_ENDS = {
    COMPLETE: "SELECT turnstile.complete(%(id)s, %(attempt)s, %(result)s::jsonb)",
    FAIL: "SELECT turnstile.fail(%(id)s, %(attempt)s, %(error)s, %(time)s)",
    DISCARD: "SELECT turnstile.fail(%(id)s, %(attempt)s, %(error)s, discard => true)",
    SNOOZE: statements.SNOOZE,
    RELEASE: statements.RELEASE,
    AWAIT: statements.AWAIT_CHILDREN,
}


def drain(
    conn: Any, handlers: dict[str, Callable[[Run], Any]], queues: tuple[str, ...] = ("*",), *, retry: Optional[RetryRules] = None,
    raises: bool = True, most: int = 10_000,
) -> list[Job]:  # fmt: skip
    """Runs the jobs that this transaction has enqueued, one after the other, and those that come of them. Returns them in order.

    raises: an exception of a handler is raised here. False: it fails the run, as a worker would have it; a job that is to be retried
    later stays.
    most: more runs are an endless loop, and an AssertionError.
    """
    known, done = Handlers(handlers), []
    while job := claim(conn, queues):
        done.append(job)
        assert len(done) <= most, f"more than {most} runs: does a job add itself again?"
        try:
            ending = ending_of_result(known.of(job.kind)(Run(job, lambda *_: None)))
        except Exception as error:
            ending = ending_of_error(error, retry or {})
            if raises and ending.verb in (FAIL, DISCARD):
                raise
        end(conn, job, ending)
    return done


def claim(conn: Any, queues: tuple[str, ...] = ("*",)) -> Optional[Job]:
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_CLAIM, [list(queues)]).fetchone()
    return None if row is None else Job.of(row)


def end(conn: Any, job: Job, ending: Ending) -> None:
    result = None if ending.result is None else json.dumps(ending.result)
    conn.execute(_ENDS[ending.verb], {"id": job.id, "attempt": job.attempt, "result": result, "error": ending.error, "time": ending.time})


def enqueued(conn: Any, kind: str, **columns: Any) -> list[dict[str, Any]]:
    """The live jobs of a kind. payload: one that contains this. Other columns of turnstile.job: equal to this."""
    text = "SELECT * FROM turnstile.job WHERE kind = %(kind)s"
    values: dict[str, Any] = {"kind": kind}
    if "payload" in columns:
        text += " AND payload @> %(payload)s::jsonb"
        values["payload"] = json.dumps(columns.pop("payload"))
    with conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(text + " ORDER BY position", values).fetchall()
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def assert_enqueued(conn: Any, kind: str, count: Optional[int] = None, **columns: Any) -> list[dict[str, Any]]:
    """Fails unless there is such a job, or there are so many of them."""
    found = enqueued(conn, kind, **columns)
    if not found if count is None else len(found) != count:
        known = conn.execute("SELECT kind, payload FROM turnstile.job ORDER BY position LIMIT 20").fetchall()
        wanted = "a job" if count is None else f"{count} jobs"
        raise AssertionError(f"expected {wanted} of kind {kind!r} with {columns}, found {len(found)}; there are {known}")
    return found


@contextlib.contextmanager
def inline(handlers: dict[str, Callable[[Run], Any]]) -> Iterator[None]:
    """Within it enqueue, enqueue_many and enqueue_batch run the jobs at once, in the caller's transaction of psycopg."""
    is_running = False

    def run(conn: Any) -> None:
        # What a handler enqueues is run by the loop that runs the handler.
        nonlocal is_running
        if not is_running:
            is_running = True
            try:
                drain(conn, handlers)
            finally:
                is_running = False

    token = producer.inline.set(run)
    try:
        yield
    finally:
        producer.inline.reset(token)
