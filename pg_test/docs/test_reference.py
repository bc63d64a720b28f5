"""docs/reference says what the catalog and the sources say."""

import re

import pytest
from docs import metrics, raised, reference


@pytest.fixture(scope="module")
def pages(module_conn):
    return reference.pages(module_conn)


@pytest.mark.parametrize("name", ["functions.md", "tables.md", "views.md", "settings.md", "errors.md", "metrics.md", "program.md"])
def test_a_page_is_up_to_date(pages, name):
    assert (reference.FOLDER / name).read_text() == pages[name], "run: make reference"


@pytest.mark.parametrize("relation", reference.TABLES + reference.SETTINGS + reference.VIEWS)
def test_each_column_has_a_meaning(module_conn, relation):
    """A COMMENT of its own, or that of the column of the same name where it comes from."""
    bare = {row[0] for row in reference.columns_of(module_conn, relation) if not row[5]}
    elsewhere = {name for names in reference.columns_elsewhere(module_conn, relation).values() for name in names}
    assert bare - elsewhere == set()


def test_each_relation_that_is_granted_is_on_a_page(module_conn):
    kinds = "producer worker tenant operator monitor".split()
    granted = {
        name
        for kind in kinds
        for privileges, name in module_conn.execute("SELECT privileges, object FROM turnstile_internal.rights_of(%s)", [kind]).fetchall()
        if privileges != "EXECUTE"
    }
    # A sequence has no columns to tell of; docs/security.md says what it tells.
    granted -= {name for (name,) in module_conn.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = 'turnstile'").fetchall()}
    assert granted <= set(reference.TABLES + reference.SETTINGS + reference.VIEWS)


def test_each_metric_that_the_view_has_is_on_the_page(pages):
    listed = re.findall(r"^    \('(turnstile_\w+)', '", metrics.SOURCE.read_text(), re.MULTILINE)
    assert re.findall(r"^\| `(turnstile_\w+)` \|", pages["metrics.md"], re.MULTILINE) == sorted(listed)


def test_names_of_metrics_end_in_what_they_count(pages):
    """Counters in _total, and all others in their unit where they have one: as OpenMetrics wants it."""
    rows = re.findall(r"^\| `(turnstile_\w+)` \| (\w+) \| (\w*) \| (.*) \|  *.*\|$", pages["metrics.md"], re.MULTILINE)
    assert len(rows) == pages["metrics.md"].count("| `turnstile_")
    for name, kind, unit, meaning in rows:
        assert name.endswith("_total") == (kind == "counter")
        assert not unit or name.endswith(f"_{unit}")
        assert meaning[0].isupper() and meaning.endswith(".")


def test_each_sqlstate_that_is_raised_has_a_meaning():
    assert {each.sqlstate for each in raised.all_errors()} <= set(reference.MEANING)


def test_errors_of_both_sources_are_found():
    found = {(each.sqlstate, each.message) for each in raised.all_errors()}
    assert ("22023", "{argument} must not be empty") in found
    assert ("55P03", "history is in use") in found


def test_each_error_says_with_which_values_and_what_to_do():
    assert raised.incomplete() == []
