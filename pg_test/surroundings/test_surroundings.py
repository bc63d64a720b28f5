"""Whatever users add to the tables: calls leave what plain SQL leaves, by the direct path and by the usual one."""

from comparison import differences
from passes import DIRECT, PLAIN, USUAL, go, leave_midnight_behind


def test_all_ways_lead_to_the_same(surrounding, copied, request):
    request.node.user_properties.append(("repeat", surrounding.repeat()))
    elements = surrounding.elements()
    for element in elements:
        print(f"-- {element.name}")
        for statement in [*element.statements, *element.by_hand.values()]:
            print(statement.strip())
    leave_midnight_behind()
    plain = go(PLAIN, copied, elements, surrounding.knows_before)
    assert len(elements) > len(plain.skipped), f"nothing of it can be made: {plain.skipped}"
    assert plain.problems == [], "after plain SQL"
    of_statements = {sqlstate for element in elements for sqlstate in element.of_statements}
    found = []
    for way in (DIRECT, USUAL):
        account = go(way, copied, elements, surrounding.knows_before)
        assert account.skipped == plain.skipped
        found += [f"{way}: {line}" for line in differences(plain, account, of_statements) + account.problems]
    assert not found, "\n" + "\n".join(found)
