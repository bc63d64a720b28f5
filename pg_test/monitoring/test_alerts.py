"""The alert rules: promtool's unit tests of them, and that these notice when a rule is broken."""

import re
from pathlib import Path

import pytest
import yaml
from monitoring import tools
from monitoring.exposition import parsed
from support.calls import enqueue
from support.database import disagreements
from support.programs import attempt

UNIT_TESTS = Path(__file__).with_name("alerts_test.yaml")
RULES = yaml.safe_load(tools.ALERTS.read_text())["groups"][0]["rules"]
NAMES = [rule["alert"] for rule in RULES]


def test_the_rules_are_valid():
    done = attempt("promtool", "check", "rules", tools.ALERTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(RULES)} rules found" in done.stdout


def test_each_alert_fires_and_keeps_silent_when_it_should():
    done = attempt("promtool", "test", "rules", UNIT_TESTS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("expression", ["vector(0) < 0", "vector(1)"])
@pytest.mark.parametrize("name", NAMES)
def test_an_alert_that_never_or_always_fires_is_noticed(name, expression, tmp_path):
    rules = yaml.safe_load(tools.ALERTS.read_text())
    next(rule for rule in rules["groups"][0]["rules"] if rule["alert"] == name)["expr"] = expression
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(rules))
    unit_tests = yaml.safe_load(UNIT_TESTS.read_text()) | {"rule_files": ["alerts.yaml"]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(unit_tests))
    done = attempt("promtool", "test", "rules", tmp_path / "test.yaml")
    assert done.returncode != 0 and f"alertname: {name}" in done.stdout + done.stderr


def test_what_check_finds_is_a_metric(db, conn):
    text = tools.checked(db.name)
    done = attempt("promtool", "check", "metrics", text=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    labels = (("database", db.name),)
    assert parsed(text).samples["turnstile_check_problems", labels] == 0
    enqueue(conn)
    conn.execute("CREATE TABLE more_jobs () INHERITS (turnstile.job)")
    conn.execute("INSERT INTO more_jobs SELECT * FROM ONLY turnstile.job")
    found = len(disagreements(db))
    assert found and parsed(tools.checked(db.name)).samples["turnstile_check_problems", labels] == found
    db.connect().execute("DROP TABLE more_jobs")


def test_an_operator_may_check(db, conn, role):
    conn.execute("SELECT turnstile.allow_operator(%s::text::regrole)", [role])
    assert parsed(tools.checked(db.name, role)).samples["turnstile_check_problems", (("database", db.name),)] == 0


def test_a_check_that_fails_writes_no_metric(db, conn):
    conn.execute("DROP EXTENSION turnstile")
    done = attempt("psql", "-XAtq", "-f", tools.CHECK, "-d", db.name)
    assert done.returncode != 0 and done.stdout == ""
    conn.execute("CREATE EXTENSION turnstile")


def test_the_names_in_the_rules_exist(monitored, db):
    known = {name for (name,) in monitored.connect().execute("SELECT name FROM turnstile.metrics").fetchall()}
    known |= parsed(tools.checked(db.name)).names()
    used = {name for rule in RULES for name in re.findall(r"turnstile_\w+", rule["expr"])}
    assert used and used <= known
