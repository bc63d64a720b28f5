"""Waits for the end of a job."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

from turnstile_client.drivers import Driver, async_rows, blocking_rows
from turnstile_client.io import blocking

_ENDED = """
SELECT state, CAST(result AS text), CAST(errors AS text)
FROM turnstile.my_jobs
WHERE id = :id AND finished_at IS NOT NULL AND NOT EXISTS (SELECT FROM turnstile.my_jobs AS live WHERE live.id = :id AND live.finished_at IS NULL)
ORDER BY finished_at DESC LIMIT 1
"""
_WAIT = "CALL turnstile.wait_for_end(:id, :timeout)"
# A call sleeps for no longer in the server, so that a connection that was lost without a word is noticed.
_STRETCH = 60.0


class JobFailed(Exception):
    """The job that was waited for has ended otherwise than by completing."""

    def __init__(self, job_id: int, state: str, errors: Any) -> None:
        last = f": {errors[-1].get('error')}" if errors else ""
        super().__init__(f"job {job_id} is {state}{last}")
        self.job_id, self.state, self.errors = job_id, state, errors


def await_result(conn: Any, job_id: int, timeout: float = 60) -> Any:
    """Waits until the job has ended and returns its result. The connection must be in autocommit mode and may see the job.

    JobFailed: it was discarded or cancelled. TimeoutError: it has not ended within so many seconds.
    """
    return blocking(_await_result(blocking_rows, conn, job_id, timeout))


async def async_await_result(conn: Any, job_id: int, timeout: float = 60) -> Any:
    return await _await_result(async_rows, conn, job_id, timeout)


async def _await_result(rows: Driver, conn: Any, job_id: int, timeout: float) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        found = await rows(conn, _ENDED, {"id": job_id})
        left = deadline - time.monotonic()
        if found:
            return _result(job_id, *found[0])
        if left <= 0:
            raise TimeoutError(f"job {job_id} has not ended")
        await rows(conn, _WAIT, {"id": job_id, "timeout": timedelta(seconds=min(left, _STRETCH))})


def _result(job_id: int, state: str, result: Any, errors: Any) -> Any:
    if state != "completed":
        raise JobFailed(job_id, state, None if errors is None else json.loads(errors))
    return None if result is None else json.loads(result)
