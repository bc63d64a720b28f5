"""clients/README.md says what each language lacks, and so does its driver: what is skipped is known."""

import re

from support.drivers import CAPABILITIES, CLIENTS, COMMANDS, capabilities

ROW = re.compile(r"^\|(.*)\|[^|]*\|$", re.MULTILINE)


def table() -> dict[str, dict[str, str]]:
    """By what there is to have: by language, whether it has that."""
    page = (CLIENTS / "README.md").read_text()
    rows = [[cell.strip(" `") for cell in row.split("|")] for row in ROW.findall(page)]
    head = next(row for row in rows if list(COMMANDS)[0] in row)
    return {row[0]: dict(zip(head[1:], row[1:])) for row in rows if row[0] in CAPABILITIES and len(row) == len(head)}


def test_the_table_has_all_languages_and_all_that_there_is_to_have():
    assert set(table()) == CAPABILITIES
    assert all(set(row) == set(COMMANDS) for row in table().values())
    assert {cell for row in table().values() for cell in row.values()} <= {"yes", ""}


def test_the_table_says_of_a_language_what_its_driver_says(language):
    assert {name for name, row in table().items() if row[language]} == capabilities(language)


def test_each_test_needs_what_there_is_to_have(request):
    needed = {name for item in request.session.items for marker in item.iter_markers("needs") for name in marker.args}
    assert needed <= CAPABILITIES
