"""What it costs to look after a job does not depend on how many others wait for each other."""

import pytest

from rules.test_plans import statements
from rules.test_plans_in_use import NAMES, watch
from support.batches import enqueue_batch, of
from support.calls import call, claim_next, discard, enqueue_many, ids
from support.history import finish
from support.plans import PLANNED, nodes, text_of

OTHERS = 10_000
FAR = 10**9
# Three levels of each index, what locking and changing the rows reads, and a history of some days.
PAGES = 150

# Of those that walk an index, how far they go.
WALKS = {"next_followers": 16, "next_batches": 16, "next_blocked": 16}
STATEMENTS = {
    "next_followers": "bigint, bigint",
    "next_batches": "bigint, bigint",
    "next_blocked": "bigint, bigint",
    "tell_predecessors": "bigint[], bigint",
    "meet_dependencies": "bigint[], bigint, bigint",
    "lock_blocked": "bigint[]",
    "decide_blocked": "bigint[]",
    "blocked_children": "bigint[], bigint",
    "fail_batches": "bigint[]",
    "children_to_stop": "bigint[], bigint",
    "reprioritize_children": "bigint[], bigint",
    "unfinished_batches": "bigint[]",
}  # fmt: skip
JOBS = ["before", "after", "parent", "child"]


@pytest.fixture
def jobs(conn):
    """A job and one that comes after it, a parent and its child, between many such."""
    before = ids(enqueue_many(conn, [{"kind": "before"}] * OTHERS))
    after = ids(enqueue_many(conn, [{"kind": "after", "after": [job]} for job in before]))
    conn.execute("UPDATE turnstile.dependency SET is_told = true WHERE job <> %s", [after[OTHERS // 2]])
    parent = enqueue_batch(conn, children=of(1), max_failed=1)
    conn.execute("INSERT INTO turnstile.batch (id, max_failed) SELECT %s + n, 1 FROM generate_series(1, %s) AS n", [FAR, 2 * OTHERS])
    [child] = conn.execute("SELECT id FROM turnstile.job WHERE parent = %s", [parent]).fetchone()
    return dict(zip(JOBS, [before[OTHERS // 2], after[OTHERS // 2], parent, child], strict=True))


def test_a_look_at_one_job_reads_no_others(conn, jobs):
    conn.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    read = {(statement, job): _pages_read(conn, statement, jobs[job]) for statement in STATEMENTS for job in JOBS}
    assert {how: pages for how, pages in read.items() if pages > PAGES} == {}


@pytest.mark.usefixtures("jobs")
def test_where_few_are_wanted_few_are_read(conn):
    conn.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    types = statements()["find_jobs"][0]
    given = ["NULL"] * len(types)
    given[5], given[7] = "'{available}'", "10"
    assert _pages(conn, "find_jobs", ", ".join(types), given) <= PAGES


@pytest.mark.parametrize(("verb", "count"), [("cancel_many", 1), ("retry_many", 1), ("delete_many", 0)])
def test_children_are_found_without_a_look_at_others(conn, verb, count):
    enqueue_many(conn, [{"kind": "other", "queue": "other"}] * OTHERS)
    finish(conn, 0, OTHERS, state="discarded")
    parent = enqueue_batch(conn, children=of(2))
    discard(conn, claim_next(conn))
    plans = watch(conn, lambda explained: _pages_of(explained["Plan"]))
    conn.execute("SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on")
    assert call(conn, verb, parent=parent) == [(count,)]
    assert {NAMES[query]: pages for query, pages in plans if query in NAMES and pages > PAGES} == {}


def _pages_read(conn, statement: str, job: int) -> int:
    given = [f"'{{{job}}}'" if STATEMENTS[statement].startswith("bigint[]") else str(job)]
    given += [str(WALKS.get(statement, 500))] * STATEMENTS[statement].count(", ")
    return _pages(conn, statement, STATEMENTS[statement], given)


def _pages(conn, statement: str, types: str, given: list[str]) -> int:
    with conn.transaction(force_rollback=True):
        conn.execute(f"PREPARE looked ({types}) AS {text_of(statement)}")
        ((explained,),) = conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked ({', '.join(given)})").fetchall()
        conn.execute("DEALLOCATE looked")
    # What changes rows after the result is known does not count in what gives the result.
    return _pages_of(explained[0]["Plan"])


def _pages_of(plan: dict) -> int:
    return max(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in nodes(plan))
