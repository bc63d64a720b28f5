"""The plans that calls really make are those that test_plans.py looks at: whatever the caller has set, and whatever comes meanwhile."""

import json

import pytest
from psycopg.errors import LockNotAvailable

from findings.behind import behind
from findings.verbs import VERBS, running
from rules.test_plans import MAY, statements
from support.calls import claim_next, discard, enqueue, fail, retry
from support.modules import load
from support.plans import KNOWN, crowd, let_be_known, nodes, read_whole, shape, texts

EXPLAINED = """
    SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
    SET auto_explain.log_format = json; SET client_min_messages = log
"""
HOSTILE = "SET enable_indexscan = off; SET enable_nestloop = off; SET enable_bitmapscan = off; SET enable_sort = off"
CUSTOM = f"{HOSTILE}; SET plan_cache_mode = force_custom_plan"
# Who waits for it is told of it when it has the lock, and not before.
CHANGE = "LOCK TABLE turnstile.retry_curve; ALTER TABLE turnstile.retry_curve ALTER COLUMN base SET STATISTICS 10"
MANY_ROWS = 10**6
FUNCTION = """
    CREATE FUNCTION counted() RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = public
    AS 'BEGIN RETURN (SELECT count(*) FROM own WHERE id >= 0); END'
"""
# The test's own.
LOOK = "SELECT key FROM turnstile.slowed_key"
NAMES = {text.strip(): name for name, text in texts().items()}


@pytest.fixture(scope="module")
def crowded(module_db):
    with module_db.connect() as conn:
        crowd(conn)
    return module_db


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_no_call_reads_all_of_a_large_table_or_makes_a_bitmap(crowded, verb):
    with crowded.connect() as conn:
        run = verb.prepare(conn)
        plans = watch(conn, lambda explained: read_whole(explained) + _bitmaps(explained))
        verb.call(conn, run)
    assert [(query, scans) for query, scans in plans if scans and query != LOOK and NAMES.get(query) not in MAY] == []


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_plans_do_not_go_by_what_is_known_of_the_tables(crowded, verb):
    plans = {known: _plans_when(crowded, known, verb) for known in KNOWN}
    assert {known: _others(plans["nothing"], found) for known, found in plans.items()} == {known: {} for known in KNOWN}


def _plans_when(crowded, known: str, verb) -> dict:
    with crowded.connect() as conn:
        let_be_known(conn, known)
        run = verb.prepare(conn)
        plans = watch(conn, lambda explained: shape(explained["Plan"]))
        verb.call(conn, run)
    # Who reads all may do so by hashing or by sorting.
    return {NAMES[query]: plan for query, plan in plans if query in NAMES and not statements()[NAMES[query]][1]}


def _others(expected: dict, found: dict) -> dict:
    return {name: plan for name, plan in found.items() if plan != expected.get(name, plan)}


@pytest.mark.parametrize("settings", [HOSTILE, CUSTOM], ids=["", "custom plans"])
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_what_the_caller_has_switched_off_counts_in_no_statement_of_the_product(crowded, verb, settings):
    with crowded.connect() as conn:
        run = verb.prepare(conn)
        conn.execute(f"DISCARD PLANS; {settings}")
        plans = watch(conn, read_whole)
        verb.call(conn, run)
    assert [(query, scans) for query, scans in plans if scans and query in NAMES and NAMES[query] not in MAY] == []


def test_what_the_caller_has_switched_off_does_not_count_where_a_plan_becomes_old_while_its_tables_are_waited_for(crowded):
    with crowded.connect() as conn:
        fail(conn, running(conn), retry_in="1 hour")
        run = running(conn)
        conn.execute(HOSTILE)
        plans = watch(conn, read_whole)
        assert behind(crowded, conn, lambda: fail(conn, run, retry_in="1 hour"), CHANGE) == "retryable"
    [scans] = [scans for query, scans in plans if NAMES.get(query) == "fail_runs"]
    assert scans == []


def test_plans_of_others_go_by_what_is_known(db, conn):
    conn.execute("CREATE TABLE own AS SELECT 1 AS id; ANALYZE own")
    fail(conn, running(conn))
    run = running(conn)
    with db.connect() as other:
        other.execute("BEGIN; LOCK TABLE turnstile.retry_curve")
        # It waits while it plans.
        conn.execute("DISCARD PLANS; SET lock_timeout = '10ms'")
        with pytest.raises(LockNotAvailable):
            fail(conn, run)
    assert _rows_expected(conn, "own") == 1
    assert _rows_expected(conn, "turnstile.retry_curve") < MANY_ROWS
    conn.execute("SET turnstile.assume_large_tables = on")
    assert _rows_expected(conn, "own") == 1
    assert _rows_expected(conn, "turnstile.retry_curve") == MANY_ROWS


def test_what_runs_while_a_statement_is_planned_goes_by_what_is_known(db, conn):
    """A function in a default is computed then, and keeps its plan."""
    conn.execute("CREATE TABLE own AS SELECT n AS id FROM generate_series(1, 3) AS n; CREATE INDEX ON own (id); ANALYZE own")
    conn.execute(FUNCTION)
    conn.execute("ALTER TABLE turnstile.job ADD COLUMN mine bigint DEFAULT counted()")
    job = enqueue(conn)
    discard(conn, claim_next(conn))
    with db.connect() as fresh:
        plans = watch(fresh, lambda explained: [node["Plan Rows"] for node in nodes(explained["Plan"]) if node.get("Relation Name") == "own"])
        retry(fresh, job)
    assert [rows for _, rows in plans if rows] == [[3]]


def _bitmaps(explained: dict) -> list[str]:
    """What they are made of; all that is found, however few rows are wanted."""
    return [node["Index Name"] for node in nodes(explained["Plan"]) if node["Node Type"] == "Bitmap Index Scan"]


def _rows_expected(conn, table: str) -> int:
    [[explained]] = conn.execute(f"EXPLAIN (FORMAT JSON) SELECT FROM {table}").fetchall()
    return explained[0]["Plan"]["Plan Rows"]


def watch(conn, look) -> list:
    """What there is to see in the plan of each statement that the connection runs from now on."""
    found = []

    def note(message):
        text = message.message_primary
        if "plan:" in text:
            explained = json.loads(text.split("plan:", 1)[1])
            found.append((explained["Query Text"].strip(), look(explained)))

    load(conn, "auto_explain")
    conn.execute(EXPLAINED)
    conn.add_notice_handler(note)
    return found
