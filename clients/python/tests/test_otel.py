"""Traces go from who enqueues to who runs."""

import pytest

from crew import job, until
from turnstile_client import Discard, Snooze, enqueue


@pytest.fixture
def spans():
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, provider.get_tracer("tests")


@pytest.fixture
def figures():
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    return reader, MeterProvider([reader]).get_meter("tests")


def test_runs_are_spans_of_the_trace_that_has_enqueued_them(conn, work, spans, figures):
    from turnstile_client.otel import MetricsHooks, TracingHooks, with_context

    exporter, tracer = spans
    reader, meter = figures

    def fails(run):
        raise {"discard": Discard("no"), "snooze": Snooze(60)}[run.kind]

    with tracer.start_as_current_span("request") as request:
        ids = [enqueue(conn, kind, metadata=with_context({"own": 1})).id for kind in ("fine", "discard", "snooze")]
    work({"fine": lambda run: None, "*": fails}, hooks=[TracingHooks(tracer), MetricsHooks(meter)])
    until(lambda: [job(conn, each)[0] for each in ids] == ["completed", "discarded", "scheduled"])
    found = {span.name: span for span in exporter.get_finished_spans() if span.name != "request"}
    assert {span.context.trace_id for span in found.values()} == {request.get_span_context().trace_id}
    assert {name: span.status.is_ok for name, span in found.items()} == {"process fine": True, "process discard": False, "process snooze": True}
    points = [
        point for of_resource in reader.get_metrics_data().resource_metrics for of_scope in of_resource.scope_metrics
        for metric in of_scope.metrics if metric.name == "messaging.process.duration" for point in metric.data.data_points
    ]  # fmt: skip
    assert sorted((point.attributes["turnstile.outcome"], point.count) for point in points) == [("complete", 1), ("discard", 1), ("snooze", 1)]
