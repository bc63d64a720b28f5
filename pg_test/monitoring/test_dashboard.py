"""Each expression of the dashboard has data in a Prometheus that scrapes the exporter, while jobs come and go."""

import json
import re

import pytest
from monitoring import tools
from monitoring.conftest import work

BOARD = json.loads(tools.DASHBOARD.read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = {
    f"{panel['id']} {panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]
}
VARIABLES = [variable["name"] for variable in BOARD["templating"]["list"]]
# What Grafana puts in for $__rate_interval: at least four scrapes.
RATE_INTERVAL = "1m"


def _filled_in(expression: str) -> str:
    """As Grafana asks when all is selected."""
    return re.sub(r"\$(queue|tenant|instance)\b", ".*", expression).replace("$__rate_interval", RATE_INTERVAL)


@pytest.fixture(scope="module")
def busy(prometheus, monitored):
    """Rates need events between two scrapes."""
    prometheus.await_data('turnstile_tenant_started_total{tenant="acme"}')
    work(monitored)
    prometheus.await_data('rate(turnstile_queue_run_seconds_count{queue="mail"}[1m]) > 0')
    return prometheus


@pytest.mark.parametrize("which", EXPRESSIONS)
def test_a_panel_has_data(busy, which):
    expression = _filled_in(EXPRESSIONS[which])
    assert "$" not in expression
    for found in busy.await_data(expression):
        assert float(found["value"][1]) >= 0


def test_a_legend_names_labels_that_are_there(busy):
    for panel in PANELS:
        for target in panel["targets"]:
            wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            for found in busy.await_data(_filled_in(target["expr"])):
                assert wanted <= found["metric"].keys(), panel["title"]


def test_what_is_not_there_has_no_data(busy):
    assert busy.query("turnstile_nothing") == []


def test_quantiles_are_in_the_bucket_of_what_was_measured(busy, monitored):
    """All ran for less than a minute, and no bucket below the first holds any."""
    expression = 'histogram_quantile(0.99, sum by (le) (turnstile_queue_run_seconds_bucket{queue="mail"}))'
    ((_, value),) = [found["value"] for found in busy.await_data(expression)]
    assert 0 < float(value) < 60


def test_prometheus_takes_the_rules(busy):
    rules = busy.rules()
    assert len(rules) == tools.ALERTS.read_text().count("alert:")
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    assert [rule["lastError"] for rule in rules if "lastError" in rule] == []


def test_variables_ask_for_labels_that_are_there(busy):
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            assert all(label in found["metric"] for found in busy.await_data(_filled_in(series)))


def test_each_variable_that_is_used_is_there():
    used = set(re.findall(r"\$\{?(\w+)", tools.DASHBOARD.read_text())) - {"__rate_interval", "__all"}
    assert used == set(VARIABLES)


def test_panels_do_not_overlap():
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in BOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken)) and max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
