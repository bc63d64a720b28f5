"""Spans and metrics of OpenTelemetry: the trace context goes with the job, in its metadata. Needs opentelemetry-api."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Optional

from opentelemetry import metrics, trace
from opentelemetry.propagate import extract, inject

from turnstile_client.hooks import Hooks
from turnstile_client.outcome import Discard, Ending, Outcome, Retry
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
            "messaging.system": "turnstile", "messaging.operation.type": "process", "messaging.operation.name": "process",
            "messaging.destination.name": job.queue, "messaging.message.id": str(job.id), "turnstile.kind": job.kind,
            "turnstile.attempt": job.attempt,
        }  # fmt: skip
        parent = extract(job.metadata if isinstance(job.metadata, dict) else {})
        started = self.tracer.start_as_current_span(
            f"process {job.kind}", parent, trace.SpanKind.CONSUMER, about, record_exception=False, set_status_on_exception=False
        )
        with started as span:
            try:
                yield
            except BaseException as error:
                # A snooze and the like are no failures.
                if not isinstance(error, Outcome) or isinstance(error, (Retry, Discard)):
                    span.record_exception(error)
                    span.set_status(trace.StatusCode.ERROR, str(error))
                raise


class MetricsHooks(Hooks):
    """How long runs take and how they end, as messaging.process.duration; its count is that of the runs."""

    def __init__(self, meter: Optional[metrics.Meter] = None) -> None:
        meter = meter or metrics.get_meter("turnstile_client")
        self._duration = meter.create_histogram("messaging.process.duration", "s", "Duration of the handlers of jobs.")
        self._refused = meter.create_counter("turnstile.ends.refused", "{end}", "Ends of runs that the server did not take at once.")

    def ended(self, run: Run, ending: Ending, seconds: float) -> None:
        self._duration.record(seconds, {**self._about(run), "turnstile.outcome": ending.verb})

    def refused(self, run: Run, ending: Ending, error: BaseException) -> None:
        self._refused.add(1, self._about(run))

    def _about(self, run: Run) -> dict[str, str]:
        return {"messaging.system": "turnstile", "messaging.destination.name": run.job.queue, "turnstile.kind": run.job.kind}
