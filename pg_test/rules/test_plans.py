"""No statement of the product reads a whole table of jobs, of what belongs to them or of settings, but those that are there for it.

Their plans are kept for the life of a connection, and the planner is told that the tables are large, and nothing else (src/pg/estimates.rs).
test_plans_in_use.py looks at the plans that calls make; here are those of all statements.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from support.plans import FILTER, LARGE, PLANNED, chosen, crowd, read_whole, text_of, texts

ROOT = Path(__file__).parents[2]
_PLAN = r"(?:\s*\.that_reads_(all|a_range)\(\))?"
_STATEMENT = re.compile(r'\b(\w+)!\(\s*"(\w+)"\s*(?:,\s*\[?([A-Z0-9_a-z:,\s]*?)\]?)?\s*,?\s*\)' + _PLAN, re.S)
# Macros of statements, and the types of the parameters that all of theirs have.
_MACRO = re.compile(r"macro_rules! (\w+) \{(?:(?!macro_rules!).)*?\bstatement!\(\s*\$name,\s*\[(.*?)\]", re.S)
# The types of those that are made of parts.
_OF_CHOICES = re.compile(r"const TYPES: \[Oid; \d+\] = \[(.*?)\]", re.S)
_TYPE = re.compile(r"\b([A-Z0-9]+)OID\b")
_ARRAY = re.compile(r"^(\w+)array$")

# Why they may.
MAY = {
    "any_follow_up": "stops at the first row",
    "bounds_exist": "reads the index of bounds",
    "check_children": "check() compares all",
    "check_due": "check() compares all",
    "check_leases": "check() compares all",
    "check_places": "check() compares all",
    "count_jobs": "counts all, where figures are not trusted",
    "endpoints": "each connection keeps them",
    "fail_batches": "looks at all batches after memory was lost, and else at those that are named",
    "find_orphans": "reads the index of bound runs",
    "first_due": "stops at the first row",
    "first_positions": "reads all that wait, when a queue begins to age them",
    "gate_settings": "is read when memory is made",
    "gone_owners": "reads the index of bound runs",
    "next_batches": "reads so many as it is told",
    "next_blocked": "reads the index of blocked jobs, part by part",
    "prune_unique_keys": "maintain() looks at all keys",
    "rebuild_available": "makes memory",
    "rebuild_held_sessions": "makes memory",
    "rebuild_paused_session": "stops at the first row",
    "rebuild_running": "makes memory",
    "reroute": "goes through all that wait, part by part",
    "routes": "each connection keeps them",
    "running_leases": "makes memory",
    "session_holder": "reads some of the index of blocked jobs, for why_waiting",
    "untold_followers": "reads the index of what was not told",
    "waiting_kinds": "reroute asks for it",
}  # fmt: skip


@cache
def statements() -> dict[str, tuple[list[str], str]]:
    """The types of each statement's parameters, and whether it is planned to read all or a range."""
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.rs")]
    first = {"statement": []} | {name: _types(types) for source in sources for name, types in _MACRO.findall(source)}
    used = [use for source in sources for use in _STATEMENT.findall(source)]
    [types] = _OF_CHOICES.findall((FILTER / "filter.rs").read_text())
    made = {name: (_types(types), "") for name in chosen()}
    return made | {name: (first[macro] + _types(more), reads) for macro, name, more, reads in used if macro in first}


def _types(text: str) -> list[str]:
    return [_ARRAY.sub(r"\1[]", name.lower()) for name in _TYPE.findall(text)]


@pytest.fixture
def crowded(conn):
    crowd(conn)
    return conn


def test_no_statement_reads_all_of_a_large_table(crowded):
    crowded.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    found = {}
    for name, (types, reads) in sorted(statements().items()):
        crowded.execute(f"SET enable_bitmapscan = {'on' if reads == 'a_range' else 'off'}")
        found[name] = _read_whole(crowded, name, types)
    assert {name: scans for name, scans in found.items() if scans and name not in MAY} == {}


def test_all_that_may_are_statements():
    assert MAY.keys() <= statements().keys()


def test_all_statements_are_looked_at():
    assert statements().keys() == texts().keys()


def test_what_is_planned_to_read_all_may():
    assert {name for name, (_, reads) in statements().items() if reads == "all"} <= MAY.keys()


def _read_whole(conn, name: str, types: list[str]) -> list:
    """The scans that have no condition on the index that they read, or that read none."""
    parameters, nulls = (f"({', '.join(each)})" if types else "" for each in (types, ["NULL"] * len(types)))
    conn.execute(f"PREPARE looked {parameters} AS {text_of(name)}")
    [[explained]] = conn.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked {nulls}").fetchall()
    conn.execute("DEALLOCATE looked")
    return read_whole(explained[0])
