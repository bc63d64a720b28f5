"""No statement of the product reads a whole table of jobs, or of what belongs to them, but those that are there for it.

Their plans are kept for the life of a connection, whatever is known of the tables when they are made; so they are looked at without
any statistics, with sizes only, and with all.
"""

import re
from pathlib import Path

import pytest

from support.batches import enqueue_batch, of
from support.calls import enqueue_many, ids
from support.plans import PLANNED, QUERIES, nodes, text_of

ROOT = Path(__file__).parents[2]
MANY = 5_000
LARGE = {"job", "dependency", "batch", "unique_key"}
_STATEMENT = re.compile(r'(?<!_)statement!\(\s*"(\w+)"\s*(?:,\s*\[(.*?)\])?\s*,?\s*\)(\s*\.that_walks_an_index\(\))?', re.S)
_ARRAY = re.compile(r"^(\w+)array$")

# Why they may.
MAY = {
    "any_follow_up": "stops at the first row",
    "check_children": "check() compares all",
    "check_due": "check() compares all",
    "check_leases": "check() compares all",
    "count_jobs": "counts all, where figures are not trusted",
    "fail_batches": "looks at all batches after memory was lost, and else at those that are named",
    "find_orphans": "reads the index of bound runs",
    "first_due": "stops at the first row",
    "gate_settings": "is read when memory is made",
    "gone_owners": "reads the index of bound runs",
    "next_batches": "reads so many as it is told",
    "next_blocked": "reads the index of blocked jobs, part by part",
    "prune_unique_keys": "maintain() looks at all keys",
    "rebuild_available": "makes memory",
    "rebuild_held_sessions": "makes memory",
    "rebuild_running": "makes memory",
    "reroute": "goes through all that wait, part by part",
    "running_leases": "makes memory",
    "session_holder": "reads some of the index of blocked jobs, for why_waiting",
    "untold_followers": "reads the index of what was not told",
    "waiting_kinds": "reroute asks for it",
}  # fmt: skip


def statements() -> dict[str, tuple[list[str], bool]]:
    """The types of each statement's parameters, and whether it is planned without bitmaps."""
    found = {}
    for path in (ROOT / "src").rglob("*.rs"):
        for name, types, walks in _STATEMENT.findall(path.read_text()):
            given = [each.strip().removeprefix("pg_sys::").removesuffix("OID").lower() for each in types.split(",") if each.strip()]
            found[name] = ([_ARRAY.sub(r"\1[]", each) for each in given], bool(walks))
    return {name: what for name, what in found.items() if (QUERIES / f"{name}.sql").exists()}


@pytest.fixture
def crowded(conn):
    """Jobs of all sorts, many of each."""
    before = ids(enqueue_many(conn, [{"kind": "before", "unique_key": f"u{n}"} for n in range(MANY)]))
    enqueue_many(conn, [{"kind": "after", "after": [job]} for job in before])
    enqueue_batch(conn, children=of(MANY))
    conn.execute("INSERT INTO turnstile.batch (id) SELECT 1000000000 + n FROM generate_series(1, %s) AS n", [MANY])
    return conn


@pytest.mark.parametrize("statistics", ["", "VACUUM", "ANALYZE"], ids=["nothing known", "size known", "values known"])
def test_no_statement_reads_all_of_a_large_table(crowded, statistics):
    if statistics:
        crowded.execute(f"{statistics} turnstile.dependency, turnstile.job, turnstile.batch, turnstile.unique_key")
    crowded.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    found = {name: reads for name, what in sorted(statements().items()) if (reads := _read_whole(crowded, name, *what))}
    assert {name: reads for name, reads in found.items() if name not in MAY} == {}


def test_all_that_may_are_statements():
    assert MAY.keys() <= statements().keys()


def _read_whole(conn, name: str, types: list[str], walks: bool) -> list:
    """The scans that have no condition on the index that they read, or that read none."""
    parameters, nulls = (f"({', '.join(each)})" if types else "" for each in (types, ["NULL"] * len(types)))
    conn.execute(f"SET enable_bitmapscan = {'off' if walks else 'on'}")
    conn.execute(f"PREPARE looked {parameters} AS {text_of(name)}")
    [[explained]] = conn.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked {nulls}").fetchall()
    conn.execute("DEALLOCATE looked")
    scans = [node for node in nodes(explained[0].get("Plan", {})) if _is_large(node.get("Relation Name", ""))]
    kinds = ["Seq Scan", "Index Scan", "Index Only Scan"]
    return [(node["Node Type"], node["Relation Name"]) for node in scans if node["Node Type"] in kinds and "Index Cond" not in node]


def _is_large(relation: str) -> bool:
    return relation in LARGE or relation.startswith("job_history")
