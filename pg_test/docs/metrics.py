"""The page of metrics, made of what the view gives in a database in which all of them have a value."""

from pathlib import Path

from support.calls import call, claim_next, complete, enqueue
from support.database import fresh_database

SOURCE = Path(__file__).resolve().parents[2] / "sql" / "schema" / "operate" / "metrics.sql"

UNITS = ["seconds", "bytes"]
# Of a histogram each bucket is a sample, with its bound as a label.
_FAMILIES = r"""
SELECT CASE type WHEN 'histogram' THEN regexp_replace(name, '_(bucket|sum|count)$', '') ELSE name END AS family, type, help,
    (array_agg(DISTINCT label ORDER BY label) FILTER (WHERE label <> 'le')) AS labels
FROM turnstile.metrics
LEFT JOIN LATERAL jsonb_object_keys(labels) AS label ON true
GROUP BY family, type, help
"""


def _use_all(conn) -> None:
    call(conn, "set_queue", name="mail", max_running=1)
    enqueue(conn, queue="mail", tenant="acme")
    complete(conn, claim_next(conn, "mail"))


def _unit(name: str) -> str:
    return next((unit for unit in UNITS if name.endswith(f"_{unit}")), "")


def page(made: str) -> str:
    with fresh_database() as database:
        conn = database.connect()
        _use_all(conn)
        families = sorted(conn.execute(_FAMILIES).fetchall())
    lines = ["# Metrics", "", made, ""]
    lines += [
        "What [`turnstile.metrics`](views.md#metrics) gives, and the [exporter's queries](../operations.md#metrics-alerts-and-a-dashboard)",
        "with it. Counters begin with zero after `stat_reset()` and a crash. A histogram has samples with `_bucket` (and a label",
        "`le`), `_sum` and `_count` behind its name. `turnstile_queue_…` are of each queue, `turnstile_tenant_…` of each tenant that",
        "[`stat_tenant`](views.md#stat_tenant) has.", "",
        "| metric | type | unit | meaning | labels |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, kind, meaning, labels in families:
        shown = ", ".join(f"`{label}`" for label in labels or [])
        lines.append(f"| `{name}` | {kind} | {_unit(name)} | {meaning} | {shown} |")
    return "\n".join(lines) + "\n"
