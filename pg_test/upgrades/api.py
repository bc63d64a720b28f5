"""What users write against: functions, views, tables and settings, as lines that a later release must still have."""

import re
from collections.abc import Iterator
from pathlib import Path

from rights.page import NEEDS

FOLDER = Path(__file__).with_name("api")

_FUNCTIONS = """
SELECT proname::text, prokind::text, pg_get_function_result(oid), obj_description(oid, 'pg_proc'), ARRAY(
    SELECT concat_ws(' ', proargnames[n], format_type(proargtypes[n - 1], NULL), '= ' || pg_get_function_arg_default(oid, n))
    FROM generate_series(1, pronargs) AS n ORDER BY n
)
FROM pg_proc
WHERE pronamespace = 'turnstile'::regnamespace AND prorettype <> 'trigger'::regtype AND proname = ANY (%s)
ORDER BY proname COLLATE "C", pronargs
"""
_RELATIONS = """
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'c' THEN 'type' ELSE 'table' END, relname::text, ARRAY(
    SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END,
        '= ' || pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = rel.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum
)
FROM pg_class AS rel
WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v', 'c') AND NOT relispartition
ORDER BY 1, relname COLLATE "C"
"""
_SETTINGS = """
SELECT name, concat_ws(' ', vartype, context, unit, 'from', min_val, 'to', max_val, '=', boot_val)
FROM pg_settings WHERE name LIKE 'turnstile.%' ORDER BY name
"""
# Not what users write against.
_INTERNAL = {"gate_setting", "job_lane", "history_pass", "maintain_task"}

# By thing, such as `function complete`: the lines of it, in order.
Api = dict[str, list[str]]


def of_catalog(conn) -> Api:
    return dict([*_functions(conn), *_relations(conn), *_settings(conn)])


def _functions(conn) -> Iterator[tuple[str, list[str]]]:
    for name, kind, result, comment, arguments in conn.execute(_FUNCTIONS, [list(NEEDS)]).fetchall():
        lines = [f"argument {argument}" for argument in arguments]
        if result and result.startswith("TABLE("):
            lines += [f"column {column}" for column in result.removeprefix("TABLE(").removesuffix(")").split(", ")]
        elif result:
            lines.append(f"returns {result}")
        lines += [f"error {code}" for code in _errors(comment)]
        yield f"{'procedure' if kind == 'p' else 'function'} {name}", lines


def _errors(comment: str) -> list[str]:
    """The SQLSTATEs that the comment names."""
    _, _, errors = comment.partition("Errors: ")
    return sorted(set(re.findall(r"\b[0-9A-Z]{5}\b", errors)))


def _relations(conn) -> Iterator[tuple[str, list[str]]]:
    for kind, name, columns in conn.execute(_RELATIONS).fetchall():
        if name not in _INTERNAL:
            yield f"{kind} {name}", [f"column {column}" for column in columns]


def _settings(conn) -> Iterator[tuple[str, list[str]]]:
    for name, what in conn.execute(_SETTINGS).fetchall():
        yield f"setting {name}", [f"is {what}"]


def written(api: Api) -> str:
    return "\n".join(line for thing, lines in api.items() for line in [thing, *(f"    {line}" for line in lines)]) + "\n"


def read(text: str) -> Api:
    api: Api = {}
    for line in text.splitlines():
        if line.startswith(" "):
            api[thing].append(line.strip())
        else:
            thing = line
            api[thing] = []
    return api


def path(version: str) -> Path:
    return FOLDER / f"{version}.txt"


# Defaults that mean to callers of the old release what they meant before.
SAME = {
    # NULL stands for 0, unless the job has a parent.
    ("function enqueue", "argument priority integer = NULL::integer"): "argument priority integer = 0",
    # What a claim says of a run is kept by the claim that follows its end.
    ("function complete_and_claim_next", "argument bind_to_connection boolean = NULL::boolean"): "argument bind_to_connection boolean = false",
    # NULL stands for until_executed, where there is a key.
    ("function enqueue", "argument unique_mode text = NULL::text"): "argument unique_mode text = 'until_executed'::text",
    ("function schedule", "argument unique_mode text = NULL::text"): "argument unique_mode text = 'until_executed'::text",
    ("table recurring", "column unique_mode text"): "column unique_mode text not null = 'until_executed'::text",
    # NULL stands for states, which only callers of the new release name.
    ("table unique_key", "column mode text"): "column mode text not null",
    # Since 0.2.0 such a column is inherited, and no row has to name it.
    **{
        (f"table {table}", f"column {column}"): f"column {column} {was}"
        for table, column, was in (
            *((table, "rate_per interval", "not null = '00:00:01'::interval") for table in ("queue", "tenant", "account", "concurrency")),
            ("queue", "policy text", "not null = 'fifo'::text"),
            ("queue", "lease interval", "not null = '00:05:00'::interval"),
            ("queue", "max_attempts integer", "not null = 25"),
            ("queue", "retry_base interval", "not null = '00:00:01'::interval"),
            ("queue", "retry_cap interval", "not null = '1 day'::interval"),
            ("queue", "session_on_retry text", "not null = 'hold'::text"),
            ("queue", "notify boolean", "not null = true"),
            ("queue", "keep_completed interval", "= '7 days'::interval"),
            ("queue", "keep_discarded interval", "= '7 days'::interval"),
            ("tenant", "weight integer", "not null = 1"),
        )
    },
}


# What the changelog of a later version announces as gone.
GONE = {
    # The server fires recurring jobs by itself. Nobody needs the number of an entry of pg_cron, and there is none to be missing.
    "function schedule": ["returns bigint", "error 55000"],
    "table recurring": [
        "column cron_entry text not null = ('turnstile recurring '::text || md5(name))"
    ],
}


def broken(old: Api, new: Api) -> list[str]:
    """What a caller of the old release would miss. What is added behind, and can be left out, is none of it."""
    def meant(thing: str) -> list[str] | None:
        return thing in new and [SAME.get((thing, line), line) if line not in old[thing] else line for line in new[thing]] or None

    def promised(thing: str) -> list[str]:
        return [line for line in old[thing] if line not in GONE.get(thing, [])]

    return [f"{thing}: {problem}" for thing in old for problem in _problems(promised(thing), meant(thing))]


def _problems(old: list[str], new: list[str] | None) -> Iterator[str]:
    if new is None:
        yield "is gone"
        return
    for kind in ("argument", "column"):
        was, now = ([line for line in lines if line.startswith(kind)] for lines in (old, new))
        if now[: len(was)] != was:
            yield f"{now} begins otherwise than {was}"
        elif kind == "argument":
            yield from (f"{line} has no default" for line in now[len(was) :] if " = " not in line)
    rest = [line for line in old if not line.startswith(("argument", "column"))]
    yield from (f"{line} is gone" for line in rest if line not in new)
