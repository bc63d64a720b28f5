"""The pages of docs/reference, made of the catalog's COMMENTs, of what the sources raise, and of the help of the program.

python pg_test/docs/reference.py writes them; a test compares.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs import metrics  # noqa: E402
from docs.raised import all_errors, all_warnings  # noqa: E402
from rights.page import GROUPS  # noqa: E402
from support.database import fresh_database  # noqa: E402
from support.program import PROGRAM  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
MADE = "<!-- made by pg_test/docs/reference.py; run: make reference -->\n\n"

FUNCTIONS = {group: list(names) for group, names in GROUPS.items()}
TABLES = ["job", "job_history", "dependency", "unique_key", "permission", "recurring"]
SETTINGS = ["queue", "tenant", "account", "concurrency", "paused_session", "batch", "route", "endpoint", "slowed_key", "retry_curve"]
VIEWS = [
    "jobs", "my_jobs", "dead_jobs", "job_status", "queues", "tenants", "accounts", "concurrency_keys", "batches", "dependencies",
    "queue_in_force", "tenant_in_force", "account_in_force", "concurrency_in_force",
    "permissions", "recurring_jobs", "workers", "history_partition", "stat_queue", "stat_tenant", "metrics", "memory",
]  # fmt: skip
# The relations whose columns of the same name mean the same.
SAME_COLUMNS = {
    "jobs": ["job", "job_history"], "my_jobs": ["jobs", "job", "job_history"], "dead_jobs": ["jobs", "job", "job_history"], "job_status": ["jobs", "job", "job_history"],
    "dependencies": ["dependency"], "queues": ["queue"], "tenants": ["queues", "tenant"], "accounts": ["queues", "account"],
    "concurrency_keys": ["queues", "concurrency", "slowed_key"], "permissions": ["permission"], "recurring_jobs": ["recurring", "job"],
    "queue_in_force": ["queue"], "tenant_in_force": ["tenant"], "account_in_force": ["account"], "concurrency_in_force": ["concurrency"],
    "recurring": ["job"], "stat_queue": ["queues", "queue"], "stat_tenant": ["stat_queue", "queues", "tenant"],
}  # fmt: skip
MEANING = {
    "00000": ("successful_completion", ""),
    "08P01": ("protocol_violation", ""),
    "09000": ("triggered_action_exception", "A trigger of yours has returned NULL for the row. Nothing has happened."),
    "0A000": ("feature_not_supported", "PREPARE TRANSACTION after changing jobs, or a claim in a SERIALIZABLE transaction."),
    "22004": ("null_value_not_allowed", "NULL where a value is needed."),
    "22023": ("invalid_parameter_value", "A bad value."),
    "23514": ("check_violation", "Plain DML wrote a value that the table does not allow."),
    "25001": ("active_sql_transaction", "The call must not run in a transaction block or a function."),
    "25006": ("read_only_sql_transaction", "The server is a standby, or the transaction is read-only."),
    "27000": (
        "triggered_data_change_violation",
        "A CHECK of yours, or a trigger before the change, has changed the job that is being claimed. Nothing has happened.",
    ),
    "39P01": ("trigger_protocol_violated", "A trigger function of the extension was called in a query."),
    "40001": (
        "serialization_failure",
        "In REPEATABLE READ and SERIALIZABLE a row changed at that moment. Run the transaction again. PostgreSQL raises it.",
    ),
    "40P01": (
        "deadlock_detected",
        "Two transactions waited for each other's unique keys. Run the transaction again. PostgreSQL raises it.",
    ),
    "42501": ("insufficient_privilege", "The role may not do this. The HINT has the call that would allow it."),
    "42804": ("datatype_mismatch", "A column of the extension has another type than the extension gave it."),
    "42704": ("undefined_object", "A role does not exist."),
    "42809": ("wrong_object_type", "Another object has the name of a table or sequence of the extension."),
    "42P01": ("undefined_table", "The extension was dropped, or something of it was renamed."),
    "53200": ("out_of_memory", "The system has no memory for the scheduler. What was enqueued is not lost."),
    "53400": ("configuration_limit_exceeded", "The backlog is full (max_waiting), or, as a WARNING in the log, the memory of the scheduler."),
    "54000": ("program_limit_exceeded", "Too long or too many. Names have at most 255 bytes."),
    "55000": (
        "object_not_in_prerequisite_state",
        "The run was superseded, the job is in another state, or something that the call needs is missing. "
        "A worker that gets it for a run drops the result and claims another job.",
    ),
    "55P03": ("lock_not_available", "Others hold locks on the history. Try again later."),
    "P0002": ("no_data_found", "There is no such job, or no such recurring job."),
    "XX000": ("internal_error", "Please report it. The next call rebuilds the memory of the scheduler where that is needed."),
    "XX001": ("data_corrupted", "A value that was passed is damaged."),
}

_ARGUMENT = re.compile(r"([a-z_]+): (.*)")

_SIGNATURE = """
SELECT p.prokind::text, pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc'),
    (
        SELECT array_agg(concat_ws(' ', arg.name, format_type(arg.type, NULL), 'DEFAULT ' || regexp_replace(
            pg_get_function_arg_default(p.oid, arg.n::int), '::[a-z ]+(\\[\\])?$', '')) ORDER BY arg.n)
        FROM unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY AS arg (name, type, n)
        WHERE arg.n <= p.pronargs
    )
FROM pg_proc AS p
WHERE p.proname = %s AND p.pronamespace = 'turnstile'::regnamespace
"""
_COLUMNS = """
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated <> '',
    regexp_replace(pg_get_expr(d.adbin, d.adrelid), '::[a-z ]+(\\[\\])?$', ''), col_description(a.attrelid, a.attnum)
FROM pg_attribute AS a
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_SERVER_SETTINGS = """
SELECT name, coalesce(pg_size_pretty(CASE unit WHEN 'B' THEN boot_val::bigint END), boot_val),
    coalesce(pg_size_pretty(CASE unit WHEN 'B' THEN min_val::bigint END), min_val),
    coalesce(pg_size_pretty(CASE unit WHEN 'B' THEN max_val::bigint END), max_val),
    CASE context WHEN 'postmaster' THEN 'restart' WHEN 'sighup' THEN 'reload' ELSE 'superusers, at any time' END,
    short_desc, extra_desc
FROM pg_settings
WHERE name LIKE 'turnstile.%%' AND name <> ALL (%s)
ORDER BY name
"""
# Settings of test builds.
_OF_TESTS = ["turnstile.seeded_fault", "turnstile.panic_at", "turnstile.pause_at"]


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _errors(line: str) -> str:
    """Each SQLSTATE with a link to what it means."""
    return re.sub(r"\b(?=[0-9A-Z]{5}\b)(?=[0-9A-Z]*[0-9])([0-9A-Z]{5})\b", _link, line)


def _link(found: re.Match) -> str:
    code = found[1]
    return f"[{code}](errors.md#{code.lower()}-{MEANING[code][0]})"


def _linked(text: str) -> str:
    """Each table, view or parameter that is named, as a link."""

    def link(found: re.Match) -> str:
        for page, names in (("tables", TABLES), ("settings", SETTINGS), ("views", VIEWS)):
            if found[1] in names:
                return f"[`{found[0]}`]({page}.md#{found[1]})"
        return f"`{found[0]}`"

    return re.sub(r"\bturnstile\.(\w+)", link, text)


def _described(comment: str) -> list[str]:
    lines, in_list = [], False
    for line in _linked(comment).split("\n"):
        if line.startswith("Errors: "):
            lines += ["", _errors(line)]
        elif argument := _ARGUMENT.fullmatch(line):
            lines += ["", f"* `{argument[1]}`: {argument[2]}"][0 if not in_list else 1 :]
            in_list = True
            continue
        else:
            lines += ["", line]
        in_list = False
    return lines[1:]


def _function(conn, name: str) -> list[str]:
    kind, result, comment, arguments = conn.execute(_SIGNATURE, [name]).fetchone()
    call = f"{'CALL ' if kind == 'p' else ''}{name}"
    arguments = arguments or []
    one_line = f"{call}({', '.join(arguments)})"
    text = one_line if len(one_line) <= 90 else f"{call}(\n    " + ",\n    ".join(arguments) + "\n)"
    ending = "" if kind == "p" else f" → {result}"
    return ["", f"### {name}", "", "```", text + ending, "```", "", *_described(comment)]


def functions(conn) -> str:
    lines = ["# Functions", "", MADE.strip(), ""]
    lines += [
        "All are in the schema `turnstile`. Call them with named arguments: `turnstile.enqueue('mail', tenant => 'acme')`.",
        "`(job_id, attempt)` names one run. An empty queue is no rows, never an error. [security.md](../security.md) says which",
        "permission each function needs; [errors.md](errors.md) explains the errors.",
    ]
    for group, names in FUNCTIONS.items():
        lines += ["", f"## {group}", "", ", ".join(f"[`{name}`](#{name})" for name in names)]
        for name in names:
            lines += _function(conn, name)
        if group == "Work":
            comment = conn.execute("SELECT obj_description('turnstile.claimed_job'::regtype, 'pg_type')").fetchone()[0]
            columns = conn.execute(_COLUMNS, ["turnstile.claimed_job"]).fetchall()
            lines += ["", "### The type claimed_job", "", comment, "", _row("column", "type", "meaning"), "|---|---|---|"]
            lines += [_row(f"`{name}`", kind, _cell(text)) for name, kind, _, _, _, text in columns]
    return "\n".join(lines) + "\n"


def columns_of(conn, relation: str) -> list[tuple]:
    return conn.execute(_COLUMNS, [f"turnstile.{relation}"]).fetchall()


def columns_elsewhere(conn, relation: str) -> dict[str, list[str]]:
    """The columns without a COMMENT of their own that have one in another relation, by that relation."""
    bare = [row[0] for row in columns_of(conn, relation) if not row[5]]
    found = {}
    for other in SAME_COLUMNS.get(relation, []):
        known = {row[0] for row in columns_of(conn, other) if row[5]}
        found[other] = [name for name in bare if name in known]
        bare = [name for name in bare if name not in known]
    return {other: names for other, names in found.items() if names}


def _page_of(relation: str) -> str:
    return "tables.md" if relation in TABLES else "settings.md" if relation in SETTINGS else "views.md"


def _elsewhere(conn, relation: str) -> list[str]:
    """Where each column is explained that is not explained here."""
    lines = []
    for other, names in columns_elsewhere(conn, relation).items():
        listed = ", ".join(f"`{name}`" for name in names)
        lines += ["", f"As in [{other}]({_page_of(other)}#{other}): {listed}."]
    return lines


def _default(row: tuple) -> str:
    _, _, is_needed, is_generated, default, _ = row
    if is_generated:
        return "generated"
    if default:
        return f"`{default}`"
    return "needed" if is_needed else ""


def _relation(conn, name: str, with_defaults: bool) -> list[str]:
    comment = conn.execute("SELECT obj_description(('turnstile.' || %s)::regclass, 'pg_class')", [name]).fetchone()[0]
    lines = ["", f"## {name}", "", _linked(comment)]
    rows = [row for row in columns_of(conn, name) if row[5]]
    if name == "job_history":
        own = {row[0] for row in columns_of(conn, "job")}
        rows = [row for row in rows if row[0] not in own]
    if rows and with_defaults:
        lines += ["", _row("column", "type", "default", "meaning"), "|---|---|---|---|"]
        lines += [_row(f"`{row[0]}`", row[1], _default(row), _cell(row[5])) for row in rows]
    elif rows:
        lines += ["", _row("column", "type", "meaning"), "|---|---|---|"]
        lines += [_row(f"`{row[0]}`", row[1], _cell(row[5])) for row in rows]
    return lines + _elsewhere(conn, name)


def tables(conn) -> str:
    lines = ["# Tables", "", MADE.strip(), ""]
    lines += ["The tables of settings are in [settings.md](settings.md). Other tables of the schema are internal."]
    for name in TABLES:
        lines += _relation(conn, name, True)
    return "\n".join(lines) + "\n"


def views(conn) -> str:
    lines = ["# Views", "", MADE.strip()]
    for name in VIEWS:
        lines += _relation(conn, name, False)
    return "\n".join(lines) + "\n"


def settings(conn) -> str:
    lines = ["# Settings", "", MADE.strip(), ""]
    lines += [
        "Settings of queues, tenants, accounts, keys, sessions and routes are rows of tables. A change applies from the next",
        "claim (or enqueue) after its commit. The functions `set_…`, `pause_…`, `resume_…` and `set_route` write them, and so",
        "does plain DML. What describes the server as a whole are parameters in `postgresql.conf`.",
        "", "## Parameters of the server", "",
        _row("parameter", "default", "from", "to", "changed by", "meaning"), "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, default, least, most, context, short, extra in conn.execute(_SERVER_SETTINGS, [_OF_TESTS]).fetchall():
        lines.append(_row(f"`{name}`", default, least or "", most or "", context, _cell(f"{short} {extra}")))
    for name in SETTINGS:
        lines += _relation(conn, name, True)
    return "\n".join(lines) + "\n"


def errors() -> str:
    lines = ["# Errors", "", MADE.strip(), ""]
    lines += [
        "Programs should look at the SQLSTATE only: texts may change. A message says what is wrong, the DETAIL with which",
        "values, the HINT what to do. Words in braces stand for values. `enqueue_many` puts `element N:` before the message.",
    ]
    raised = all_errors()
    for code, (name, meaning) in MEANING.items():
        if not meaning:
            continue
        lines += ["", f"## {code} {name}", "", meaning]
        mine = [each for each in raised if each.sqlstate == code]
        if mine:
            lines += ["", _row("message", "hint"), "|---|---|"]
            lines += [_row(f"`{each.message}`".replace("|", "\\|"), _cell(each.hint)) for each in mine]
    lines += ["", "## Warnings and notices", "", _row("message", "hint"), "|---|---|"]
    lines += [_row(f"`{each.message}`", _cell(each.hint)) for each in all_warnings()]
    return "\n".join(lines) + "\n"


def program() -> str:
    """What the program that scripts/install has built says of itself."""
    return subprocess.run([PROGRAM, "pages", "--reference"], check=True, capture_output=True, text=True).stdout


def pages(conn) -> dict[str, str]:
    return {
        "functions.md": functions(conn), "tables.md": tables(conn), "views.md": views(conn), "settings.md": settings(conn),
        "errors.md": errors(), "metrics.md": metrics.page(MADE.strip()), "program.md": program(),
    }  # fmt: skip


def main() -> None:
    with fresh_database() as database:
        for name, text in pages(database.connect()).items():
            (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
