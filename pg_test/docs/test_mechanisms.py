"""Each mechanism that a test build can leave out has a guard, and stands in docs/testing.md."""

from mutants import page
from mutants.guards import GUARDS


def test_every_mechanism_has_a_guard():
    assert set(page.mechanisms()) == set(GUARDS)


def test_the_page_is_up_to_date():
    assert page.in_page() == page.table(), "run: make testing-page"
