"""The matrix of docs/security.md, made of the catalog: what each function needs, and which allow_... grants it.

python pg_test/rights/page.py writes it into the page; a test compares.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.database import fresh_database  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
BEGIN, END = "<!-- made by pg_test/rights/page.py -->\n", "<!-- end -->\n"

KINDS = ["producer", "worker", "tenant", "operator", "monitor"]
_RUN = "`work` on the run's queue"
_JOB = "`manage` on the job's queue and tenant"
_OUTLOOK = "`see` or `manage` on the job's queue and tenant"
_FILTER = "`manage` on what the filter names, `*` for what it leaves out"
_ALL = "`manage` on `*` and `*`"
_NONE = "EXECUTE alone"
# The functions for users by group, and what each needs from its caller. What only the extension calls is in turnstile_internal.
GROUPS = {
    "Produce": {
        "enqueue": "`enqueue` on the queue after routing, and the tenant; to replace a job, also on that one's",
        "enqueue_if_new": "the same",
        "enqueue_many": "the same for each job; for a parent or predecessor `enqueue` on its queue and tenant",
        "enqueue_batch": "the same for the job and each child", "schedule": "`enqueue` as `enqueue` does, now and at each firing",
        "unschedule": "to own it", "pause_recurring": "to own it, or `manage` on `*` and `*`", "resume_recurring": "the same",
        "next_firing": _NONE,
    },
    "Work": {
        "claim_next": "`work` on the queue; `*`: on some queue, and claims from those",
        "claim": "`work` on each queue; `*`: on some queue, and claims from those",
        "claim_own": "`work` on each queue; `*`: jobs of the queues that it may work on",
        "wait_for_job": "`work` on each queue; `*`: on some queue, and waits for those",
        "listen_channel": "`work` on the queue; `*`: on `*`", "complete": _RUN,
        "complete_many": "`work` on the run's queue, else it is not counted",
        "complete_and_claim": "as `complete_many` and `claim`",
        "complete_and_claim_next": "as `complete` and `claim_next`", "fail": _RUN, "fail_many": "`work` on the run's queue, else it is not counted", "release": _RUN, "snooze": _RUN,
        "heartbeat": _RUN, "heartbeat_many": "`work` on the run's queue, else it is lost", "progress": _RUN, "await_children": _RUN, "endpoint_of": "`work` or `manage` on anything", "report_endpoint": f"{_RUN}, whatever its kind",
        "batch_results": "`work` on the parent's queue, else `see` on its queue and tenant, and on those of the children that are shown",
    },
    "Operate": {
        "set_queue": "`manage` on the queue, tenant `*`", "set_tenant": _ALL, "set_account": _ALL, "set_concurrency": _ALL,
        "set_batch": _ALL, "wait_for_end": _OUTLOOK,
        "pause_queue": "`manage` on the queue, tenant `*`", "resume_queue": "`manage` on the queue, tenant `*`",
        "pause_tenant": _ALL, "resume_tenant": _ALL, "pause_account": _ALL, "resume_account": _ALL, "pause_session": _ALL,
        "resume_session": _ALL, "pause_concurrency": _ALL, "resume_concurrency": _ALL, "cancel": _JOB, "discard": f"{_JOB}; with an attempt {_RUN}", "retry": _JOB, "reprioritize": _JOB,
        "cancel_many": _FILTER, "discard_many": _FILTER, "retry_many": _FILTER, "delete_many": _FILTER, "set_route": _ALL, "drop_route": _ALL,
        "set_endpoint": _ALL, "drop_endpoint": _ALL, "set_retry_curve": _ALL, "drop_retry_curve": _ALL,
        "route_of": _NONE, "reroute": _ALL, "why_waiting": _OUTLOOK, "why_waiting_many": f"{_OUTLOOK}, else there is no row", "why_waiting_summary": _NONE, "wait_estimate": _OUTLOOK,
        "recent": "`see` or `manage` on `*` and `*`", "recent_failures": "`see` or `manage` on `*` and `*`", "running_jobs": _NONE, "stat_reset": _ALL, "histogram_bounds": _NONE,
        "allow_producer": "rights to grant, and to write `permission`",
        "allow_worker": "the same", "allow_tenant": "the same", "allow_operator": "the same", "allow_monitor": "the same",
        "disallow": "the same", "check_permission": "what it is asked about",
    },
    "Maintain": {
        "maintain": _NONE, "rescue": _ALL, "promote": _ALL, "fire_recurring": _ALL, "prune_unique_keys": _ALL, "make_history_partitions": _NONE,
        "enable_cron": _NONE, "disable_cron": _NONE, "clean_cron_log": _NONE, "check": _ALL, "rebuild": _ALL, "version": _NONE, "catalog_version": _NONE,
    },
}  # fmt: skip
NEEDS = {name: need for group in GROUPS.values() for name, need in group.items()}

FUNCTIONS = """
SELECT proname::text FROM pg_proc
WHERE pronamespace = 'turnstile'::regnamespace
ORDER BY 1
"""


def granted(conn) -> dict[str, dict[str, str]]:
    """Privileges by kind and object."""
    found = {}
    for kind in KINDS:
        rows = conn.execute("SELECT object, string_agg(privileges, ', ') FROM turnstile_internal.rights_of(%s) GROUP BY 1", [kind])
        found[kind] = dict(rows.fetchall())
    return found


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def matrix(conn) -> str:
    grants = granted(conn)
    functions = {name for (name,) in conn.execute(FUNCTIONS).fetchall()}
    lines = [_line(["function", "needs", *KINDS]), "|---" * (2 + len(KINDS)) + "|"]
    for name, need in NEEDS.items():
        if name in functions:
            lines.append(_line([f"`{name}`", need, *("x" if name in grants[kind] else "" for kind in KINDS)]))
    relations = sorted({each for of in grants.values() for each in of} - functions)
    lines += ["", _line(["table or view", *KINDS]), "|---" * (1 + len(KINDS)) + "|"]
    lines += [_line([f"`{name}`", *(grants[kind].get(name, "") for kind in KINDS)]) for name in relations]
    return "\n".join(lines) + "\n"


def in_page() -> str:
    return PAGE.read_text().split(BEGIN)[1].split(END)[0]


def main() -> None:
    with fresh_database() as database:
        made = matrix(database.connect())
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + made + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
