"""Plans as EXPLAIN tells them, of statements that are planned as the product has it (src/pg/planning.rs), beside many rows."""

import re
from pathlib import Path

from support.batches import enqueue_batch, of
from support.calls import enqueue_many, ids

QUERIES = Path(__file__).parents[2] / "sql/queries"
FILTER = Path(__file__).parents[2] / "src/api/operate"
# But for statements that are planned to read all, or a range. Otherwise EXPLAIN would leave out partitions in which NULL finds nothing.
PLANNED = """
    SET enable_partition_pruning = off;
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0;
    SET turnstile.assume_large_tables = on
"""
MANY = 300
LARGE = {
    "job", "dependency", "batch", "unique_key", "queue", "tenant", "account", "concurrency", "slowed_key", "paused_session", "recurring",
    "permission", "route", "endpoint",
}  # fmt: skip
SETTINGS = [
    "INSERT INTO turnstile.queue (name, max_running) SELECT 'q' || n, 10 FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.tenant (name, slots) SELECT 't' || n, 10 FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.account (tenant, name, slots) SELECT 't' || n, 'a', 10 FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.concurrency (key, slots) SELECT 'k' || n, 10 FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.slowed_key (key, paused_until) SELECT 'k' || n, 'infinity' FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.paused_session (queue, session) SELECT 'q', 's' || n FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.recurring (name, cron, kind) SELECT 'r' || n, '0 0 1 1 *', 'a' FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.permission (role, verb, tenant) SELECT 'pg_monitor', 'see', 't' || n FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.route (pattern, queue) SELECT 'kind' || n, 'q' FROM generate_series(1, %s) AS n",
    "INSERT INTO turnstile.endpoint (pattern, url) SELECT 'kind' || n, 'https://host' || n || '.example/' FROM generate_series(1, %s) AS n",
]

_CHOICE = re.compile(r'\bchoice!\(("\w+"[^)]*)\)')
_WORDS = re.compile(r'"(\w+)"')
_ANY_VALUE = re.compile(r"\(\w+ IS NOT NULL\)")
_OWN = "relnamespace = 'turnstile'::regnamespace"
_OF_OWN = f"SELECT oid FROM pg_class WHERE {_OWN}"
# What a server may know of the tables and indexes, whatever is in them.
KNOWN = {
    "nothing": [f"UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE {_OWN}", f"DELETE FROM pg_statistic WHERE starelid IN ({_OF_OWN})"],
    "drained": [f"UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE {_OWN}", f"DELETE FROM pg_statistic WHERE starelid IN ({_OF_OWN})"],
    "analyzed": ["VACUUM ANALYZE"],
    "drained since": ["VACUUM ANALYZE", f"UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE {_OWN}"],
}


def let_be_known(conn, what: str) -> None:
    for statement in KNOWN[what]:
        conn.execute(statement)


def texts() -> dict[str, str]:
    """All statements of the product."""
    return {path.stem: path.read_text() for path in QUERIES.glob("*.sql")} | chosen()


def chosen() -> dict[str, str]:
    """Those that are made of parts, each in two forms, as the macro choice! makes them."""
    found = {name: parts for path in FILTER.glob("*.rs") for name, *parts in map(_WORDS.findall, _CHOICE.findall(path.read_text()))}
    forms = {"": "any", "_of_parent": "children"}
    return {name + suffix: _of_parts(*parts, "chosen", form, "locked") for name, parts in found.items() for suffix, form in forms.items()}


def _of_parts(*parts: str) -> str:
    return "".join((QUERIES / f"filter/{part}.sql").read_text() for part in parts)


def text_of(statement: str) -> str:
    return texts()[statement]


def nodes(plan: dict):
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def most_rows(plan: dict) -> float:
    """The most rows that a node read, by EXPLAIN ANALYZE, with those that it did not want."""
    return max(_rows_of(node) for node in nodes(plan))


def _rows_of(node: dict) -> float:
    removed = (node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Join Filter"))
    return (node["Actual Rows"] + sum(removed)) * node["Actual Loops"]


def crowd(conn) -> None:
    """Rows in each table that may have many."""
    before = ids(enqueue_many(conn, [{"kind": "before", "unique_key": f"u{n}"} for n in range(MANY)]))
    enqueue_many(conn, [{"kind": "after", "after": [job]} for job in before])
    enqueue_batch(conn, children=of(MANY))
    conn.execute("INSERT INTO turnstile.batch (id) SELECT 1000000000 + n FROM generate_series(1, %s) AS n", [MANY])
    for settings in SETTINGS:
        conn.execute(settings, [MANY])


def shape(node: dict) -> dict:
    """A plan without what was estimated."""
    said = {key: value for key, value in node.items() if not key.endswith((" Cost", " Rows", " Width"))}
    return said | {"Plans": [shape(below) for below in node.get("Plans", [])]}


def read_whole(explained: dict) -> list:
    """The scans of large tables that have no condition on the index that they read, or that read none."""
    kinds = ["Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan"]
    scans = [node for node in nodes(explained.get("Plan", {})) if node["Node Type"] in kinds and not _narrows(node.get("Index Cond", ""))]
    return [(node["Node Type"], name) for node in scans if _is_large(name := node.get("Relation Name") or _table_of(node["Index Name"]))]


def _narrows(condition: str) -> bool:
    """All entries of an index may be of rows that have a value."""
    return _ANY_VALUE.sub("", condition).strip(" ()AND") != ""


def _table_of(index: str) -> str:
    """The node of a bitmap does not say it."""
    return next((table for table in sorted(LARGE, key=len, reverse=True) if index.startswith(f"{table}_")), index)


def _is_large(relation: str) -> bool:
    return relation in LARGE or relation.startswith("job_history")
