"""The exporter of the distribution gives what the view metrics gives."""

import math

import pytest
from monitoring.exposition import Exposition, family, labelled, of_turnstile, parsed
from support.programs import attempt, fetch

# They move while nothing happens.
MOVING = {
    "turnstile_queue_oldest_waiting_seconds", "turnstile_tenant_oldest_waiting_seconds", "turnstile_history_ahead_seconds",
    "turnstile_memory_bytes",
}  # fmt: skip


@pytest.fixture(scope="module")
def text(exporter):
    return fetch(f"http://127.0.0.1:{exporter}/metrics")


@pytest.fixture(scope="module")
def scraped(text) -> Exposition:
    """Without the label by which the exporter tells servers apart."""
    found = parsed(of_turnstile(text))
    found.samples = {
        (name, tuple(pair for pair in labels if pair[0] != "server")): value for (name, labels), value in found.samples.items()
    }
    return found


@pytest.fixture(scope="module")
def viewed(monitored) -> Exposition:
    found = Exposition()
    for name, kind, meaning, labels, value in monitored.connect().execute("SELECT * FROM turnstile.metrics").fetchall():
        found.kinds[family(name, kind)] = kind
        found.helps[family(name, kind)] = meaning
        found.samples[name, labelled(labels)] = value
    return found


def test_the_exporter_has_no_complaint(text):
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[:1] not in ("", "#")}
    assert values["pg_up"] == 1
    errors = {name: value for name, value in values.items() if "error" in name}
    assert errors and set(errors.values()) == {0}, errors


def test_names_and_helps_are_as_promtool_wants_them(text):
    done = attempt("promtool", "check", "metrics", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_promtool_complains_of_bad_names():
    assert attempt("promtool", "check", "metrics", text="# TYPE bad_milliseconds counter\nbad_milliseconds 1\n").returncode


def test_types_and_helps_are_those_of_the_view(scraped, viewed):
    assert scraped.kinds == viewed.kinds
    assert scraped.helps == viewed.helps


def test_samples_are_those_of_the_view(scraped, viewed):
    assert scraped.samples.keys() == viewed.samples.keys()
    unequal = {
        sample: (value, scraped.samples[sample])
        for sample, value in viewed.samples.items()
        if sample[0] not in MOVING and not math.isclose(value, scraped.samples[sample], rel_tol=1e-9)
    }
    assert unequal == {}


def test_what_has_happened_is_counted(scraped):
    def of_mail(event: str) -> float:
        return scraped.samples[f"turnstile_queue_{event}", (("queue", "mail"),)]

    events = ("enqueued", "started", "completed", "failed", "retried", "discarded", "cancelled", "rescued")
    assert [of_mail(f"{event}_total") for event in events] == [9, 5, 2, 3, 1, 2, 0, 0]
    assert [of_mail(gauge) for gauge in ("waiting", "retryable", "running", "max_running", "free", "paused")] == [4, 1, 0, 5, 5, 0]
    assert scraped.samples["turnstile_queue_paused", (("queue", "later"),)] == 1
    assert ("turnstile_queue_free", (("queue", "later"),)) not in scraped.samples


@pytest.mark.parametrize(("name", "count"), [("turnstile_queue_wait_seconds", 5), ("turnstile_queue_run_seconds", 5), ("turnstile_queue_total_wait_seconds", 4)])
def test_histograms_are_histograms(scraped, name, count):
    assert scraped.kinds[name] == "histogram"
    buckets = sorted(
        (float(dict(labels)["le"]), value)
        for (sample, labels), value in scraped.samples.items()
        if sample == f"{name}_bucket" and ("queue", "mail") in labels
    )
    counts = [value for _, value in buckets]
    assert counts == sorted(counts)
    assert buckets[-1] == (math.inf, count)
    assert scraped.samples[f"{name}_count", (("queue", "mail"),)] == count


def test_history_is_a_week_ahead(scraped):
    """What the alert for maintain() rests on."""
    assert scraped.samples["turnstile_history_ahead_seconds", ()] >= 7 * 86_400
