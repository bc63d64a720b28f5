"""The arguments of turnstile.enqueue, as the library takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from turnstile_client.outcome import Seconds

if TYPE_CHECKING:
    from turnstile_client.drivers import Parameters

# By their types, for the statements of all drivers.
_TYPES = {
    "kind": "text", "payload": "jsonb", "queue": "text", "tenant": "text", "account": "text", "session": "text", "concurrency_key": "text",
    "priority": "int", "run_at": "timestamptz", "max_attempts": "int", "unique_key": "text", "unique_mode": "text", "unique_for": "interval",
    "metadata": "jsonb", "unique_by": "text[]", "parent": "bigint", "after": "bigint[]", "after_any_end": "boolean", "after_hold": "boolean",
    "unique_states": "text[]",
}  # fmt: skip
_TYPES_OF_BATCH = {
    **_TYPES, "children": "jsonb", "slots": "int", "rate": "int", "rate_per": "interval", "burst": "int", "max_failed": "int", "on_end": "text",
}  # fmt: skip
_JSON = {"payload", "metadata", "children"}
_SPANS = {name for name, type_ in _TYPES_OF_BATCH.items() if type_ == "interval"}


class JobOptions(TypedDict, total=False):
    """What a job may be told beside its kind and its payload. The reference of turnstile.enqueue says what each means."""

    queue: str
    tenant: str
    account: str
    session: str
    concurrency_key: str
    priority: int
    run_at: datetime
    max_attempts: int
    unique_key: str
    unique_mode: str
    unique_for: Seconds
    unique_by: Sequence[str]
    unique_states: Sequence[str]
    metadata: Mapping[str, Any]
    parent: int
    after: Sequence[int]
    after_any_end: bool
    after_hold: bool


class BatchOptions(JobOptions, total=False):
    """What turnstile.enqueue_batch takes beside that."""

    slots: int
    rate: int
    rate_per: Seconds
    burst: int
    max_failed: int
    on_end: str


class JobSpec(JobOptions, total=False):
    """A job of enqueue_many, or a child of enqueue_batch."""

    kind: str
    payload: Any


def call(function: str, given: Mapping[str, Any]) -> tuple[str, Parameters]:
    """SELECT * FROM turnstile.function(…). What is None is left to its default."""
    types = _TYPES_OF_BATCH if function == "enqueue_batch" else _TYPES
    unknown = given.keys() - types.keys()
    if unknown:
        raise TypeError(f"turnstile.{function} has no argument {', '.join(sorted(unknown))}")
    values = {name: _value(name, value) for name, value in _checked(given).items()}
    arguments = ", ".join(f"{name} => CAST(:{name} AS {types[name]})" for name in values)
    return f"SELECT * FROM turnstile.{function}({arguments})", values


def many(jobs: Iterable[JobSpec]) -> tuple[str, Parameters]:
    text = "SELECT id, created FROM turnstile.enqueue_many(CAST(:jobs AS jsonb)) ORDER BY ord"
    return text, {"jobs": to_json([element(job) for job in jobs])}


def element(job: JobSpec) -> dict[str, Any]:
    return {name: _in_json(value) for name, value in _checked(job).items()}


def to_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is not left to its default, of a call or of one of many jobs."""
    if not isinstance(given.get("kind"), str):
        raise TypeError(f"a job needs a kind, which is a text and not {given.get('kind')!r}")
    run_at = given.get("run_at")
    if isinstance(run_at, date) and not getattr(run_at, "tzinfo", None):
        # The server would take it for a time of its own zone, or of that of the connection.
        raise ValueError(f"run_at needs a time zone, which {run_at!r} has not; datetime.now(timezone.utc) has one")
    return {name: _span(value) if name in _SPANS else value for name, value in given.items() if value is not None}


def _span(value: Any) -> Any:
    """A number is seconds, as everywhere. A text is read by PostgreSQL."""
    return timedelta(seconds=value) if isinstance(value, (int, float)) else value


def _value(name: str, value: Any) -> Any:
    if name in _JSON:
        return to_json(value)
    return list(value) if isinstance(value, (tuple, set)) else value


def _in_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return f"{value.total_seconds():f} seconds" if isinstance(value, timedelta) else value
