"""The recipe for traces, with the real OpenTelemetry: the span of a run follows from that of its producer."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.calls import claim_next, fail

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"


def _block(language: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", RECIPES.read_text(), re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if "traceparent" in block]
    return found


@pytest.fixture(scope="module")
def kept_spans():
    """A process has one provider."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(kept_spans):
    kept_spans.clear()
    return kept_spans


@pytest.fixture
def recipe(spans):
    """The functions of the recipe as they stand on the page."""
    names = {}
    exec(_block("python"), names)
    return SimpleNamespace(**names)


def test_a_run_follows_from_its_producer(conn, recipe, spans):
    handled = []
    recipe.enqueue(conn, "mail", {"to": "a"})
    fail(conn, claim_next(conn), retry_in="0")
    assert recipe.work_once(conn, handled.append) is True
    assert handled == [{"to": "a"}]
    produced, run = spans.get_finished_spans()
    assert (produced.name, run.name) == ("enqueue mail", "run mail")
    assert run.context.trace_id == produced.context.trace_id
    assert run.parent.span_id == produced.context.span_id
    assert recipe.work_once(conn, handled.append) is False
    ((carrier, *found),) = conn.execute("SELECT metadata ->> 'traceparent', state, attempt FROM turnstile.jobs").fetchall()
    assert carrier.startswith(f"00-{produced.context.trace_id:032x}-{produced.context.span_id:016x}-")
    assert found == ["completed", 2]


def test_a_job_without_a_trace_begins_one(conn, recipe, spans):
    conn.execute("SELECT turnstile.enqueue('mail')")
    assert recipe.work_once(conn, lambda payload: None) is True
    (run,) = spans.get_finished_spans()
    assert run.parent is None
