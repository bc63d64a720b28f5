"""Plans as EXPLAIN tells them, of statements that are planned as the product has it (src/pg/planning.rs)."""

from pathlib import Path

QUERIES = Path(__file__).parents[2] / "sql/queries"
# But for bitmaps, which statements that walk an index do without.
PLANNED = "SET enable_seqscan = off; SET jit = off"


def text_of(statement: str) -> str:
    return (QUERIES / f"{statement}.sql").read_text()


def nodes(plan: dict):
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)
