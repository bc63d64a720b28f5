"""Spans of OpenTelemetry: the trace context goes with the job, in its metadata. Needs opentelemetry-api."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Optional

from opentelemetry import trace
from opentelemetry.propagate import extract, inject

from turnstile_client.hooks import Hooks
from turnstile_client.run import Run


def with_context(metadata: Optional[dict[str, Any]] = None) -> dict[str, Any]:
    """Metadata for enqueue, with the trace that is under way."""
    carrier: dict[str, Any] = {}
    inject(carrier)
    return {**(metadata or {}), **carrier}


class TracingHooks(Hooks):
    """A span for each run, whose parent is the span that has enqueued the job."""

    def __init__(self, tracer: Optional[trace.Tracer] = None) -> None:
        self.tracer = tracer or trace.get_tracer("turnstile_client")

    @contextlib.contextmanager
    def around(self, run: Run) -> Iterator[None]:
        job = run.job
        about: dict[str, Any] = {
            "messaging.system": "turnstile", "messaging.operation.type": "process", "messaging.destination.name": job.queue,
            "messaging.message.id": str(job.id), "turnstile.attempt": job.attempt,
        }  # fmt: skip
        parent = extract(job.metadata if isinstance(job.metadata, dict) else {})
        with self.tracer.start_as_current_span(f"process {job.kind}", parent, trace.SpanKind.CONSUMER, about):
            yield
