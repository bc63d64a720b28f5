"""Statements that look for jobs by lane go by the claims' index, from the group on: nobody else's lanes are read."""

from pathlib import Path

import pytest

QUERIES = Path(__file__).resolve().parents[2] / "sql" / "queries"
OTHERS = 20_000
OWN = 20
LEAST, MOST = -(2**63), 2**63 - 1
# The index has three levels. One page of the table, and what locking a row reads.
PAGES_OF_A_PROBE = 6

TYPES = {
    "next_lanes": "bigint, bigint, bigint, int",
    "find_waiting": "bigint, bigint, bigint, bigint, int, bigint[], timestamptz",
    "look_ahead": "bigint, bigint, bigint, bigint[], int",
    "check_lane": "bigint, bigint, bigint, bigint",
}


def _arguments(statement: str, group: int, lane: int) -> list[str]:
    values = {
        "next_lanes": [group >> 32 << 32, LEAST, group | 0xFFFFFFFF, 1000],
        "find_waiting": [group, lane, 0, MOST, 1, "{}", "infinity"],
        "look_ahead": [group, lane, 0, "{}", 4],
        "check_lane": [group, lane, MOST, 1_000_000],
    }
    return [f"'{value}'" for value in values[statement]]


def _pages(plan: dict) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.fixture
def crowded(conn):
    """A queue with a negative key, between the lanes of other queues."""
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, session)"
        " SELECT 'flood-' || s %% 10, 'work', CASE WHEN s %% 2 = 0 THEN 't' || s %% 100 END, 's' || s FROM generate_series(1, %s) s",
        [OTHERS],
    )
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, session)"
        " SELECT 'small', 'work', CASE WHEN s %% 2 = 0 THEN 't' || s END, 's' || s FROM generate_series(1, %s) s",
        [OWN],
    )
    return conn


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("statement", TYPES)
@pytest.mark.parametrize("statistics", ["before any", "with statistics"])
def test_a_search_by_lane_reads_no_others(crowded, statement, plans, statistics):
    if statistics == "with statistics":
        crowded.execute("ANALYZE turnstile.job")
    crowded.execute(f"SET plan_cache_mode = {plans}")
    group, lane = crowded.execute("SELECT lane_group, lane FROM turnstile.job WHERE queue = 'small' ORDER BY id LIMIT 1").fetchone()
    crowded.execute(f"PREPARE looked ({TYPES[statement]}) AS {(QUERIES / statement).with_suffix('.sql').read_text()}")
    given = ", ".join(_arguments(statement, group, lane))
    ((explained,),) = crowded.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked ({given})").fetchall()
    plan = explained[0]["Plan"]
    assert plan["Actual Rows"] == (OWN if statement == "next_lanes" else 1)
    assert _pages(plan) <= PAGES_OF_A_PROBE * (plan["Actual Rows"] + 1), explained


@pytest.mark.parametrize("most", [3, OWN, OWN + 1])
def test_lanes_are_read_part_by_part_each_once(crowded, most):
    """From where the last part ended, in the order of groups and keys."""
    lanes = crowded.execute(
        "SELECT lane_group, lane, queue, tenant, session FROM turnstile.job WHERE queue = 'small' ORDER BY lane_group, lane"
    ).fetchall()
    groups = [group for group, *_ in lanes]
    assert len({group >> 32 for group in groups}) == 1 and groups[0] < 0
    crowded.execute(f"PREPARE looked ({TYPES['next_lanes']}) AS {(QUERIES / 'next_lanes.sql').read_text()}")
    after, found = (groups[0] >> 32 << 32, LEAST), []
    while part := crowded.execute(f"EXECUTE looked ({after[0]}, {after[1]}, {groups[0] | 0xFFFFFFFF}, {most})").fetchall():
        assert len(part) <= most
        found += [(queue, tenant, session) for (queue, tenant, _, session, *_), *_ in part]
        after = lanes[len(found) - 1][:2]
    assert found == [tuple(names) for _, _, *names in lanes]
