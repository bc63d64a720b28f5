"""Jobs with unique keys and bounded backlogs, and calls about them, any two of which may meet: nobody is added twice, or over a bound."""

from support import gated, meetings
from support.calls import enqueue
from support.families import claim_just_this
from support.meetings import found_by
from support.settings import configure

MODES = ["until_executed", "until_executing", "until_and_while_executing", "while_executing", "replace"]
# Of the first, one waits and one runs; of the others, one waits.
JOBS = ["waiting", "running", *MODES[1:]]
BOUND = 2


def _under(key: str, mode: str) -> str:
    return f"unique_key => '{key}', unique_mode => '{mode}'"


VERBS = {
    f"enqueue under {key}": f"SELECT turnstile.enqueue('late', {_under(key, mode)})"
    for key, mode in [*((key, MODES[0]) for key in ("waiting", "running", "free")), *zip(MODES[1:], MODES[1:], strict=True)]
} | {
    "enqueue many under running and free": """SELECT count(*) FROM turnstile.enqueue_many('[{"kind": "late", "unique_key": "running"},
        {"kind": "late", "unique_key": "free"}, {"kind": "late", "unique_key": "free"}]')""",
    "enqueue if new": f"SELECT turnstile.enqueue_if_new('late', {_under('waiting', MODES[0])})",
    "claim": "SELECT id FROM turnstile.claim(ARRAY['default'], 9)",
    "claim bounded": "SELECT id FROM turnstile.claim_next('bounded')",
    "enqueue bounded": "SELECT turnstile.enqueue('late', queue => 'bounded')",
    "enqueue many bounded": """SELECT count(*) FROM turnstile.enqueue_many('[{"kind": "late", "queue": "bounded"}, {"kind": "late", "queue": "bounded"}]')""",
    "insert bounded": "INSERT INTO turnstile.job (kind, queue) VALUES ('late', 'bounded')",
    "cancel bounded": "SELECT turnstile.cancel(%(bounded)s)",
    "expire": "UPDATE turnstile.job SET unique_until = clock_timestamp() WHERE id = %(waiting)s",
    "prune": "SELECT turnstile.prune_unique_keys()",
    "rebuild": "SELECT turnstile.rebuild()",
} | {
    f"{verb} running": f"SELECT turnstile.{verb}(%(running)s, 1{arguments})"
    for verb, arguments in {"complete": "", "fail": ", 'no luck', '0'", "release": "", "discard": "", "complete_and_claim_next": ""}.items()
} | {
    f"{verb} {job}": statement.format(job)
    for verb, statement in {
        "cancel": "SELECT turnstile.cancel(%({})s)", "retry": "SELECT turnstile.retry(%({})s)", "delete": "DELETE FROM turnstile.job WHERE id = %({})s",
    }.items()
    for job in [*JOBS, "ended"]
}  # fmt: skip

WRONG = {
    "check": gated.WRONG["check"],
    "two that are live": """
        SELECT tenant, unique_key, array_agg((id, kind, state)) FROM turnstile.job
         WHERE unique_mode = 'until_executed' AND (unique_until IS NULL OR unique_until > clock_timestamp()) GROUP BY 1, 2 HAVING count(*) > 1""",
    "two that wait": """
        SELECT tenant, unique_key, array_agg((id, kind, state)) FROM turnstile.job
         WHERE unique_mode IN ('until_executing', 'until_and_while_executing', 'replace') AND state IN ('available', 'scheduled') AND attempt = 0
         GROUP BY 1, 2 HAVING count(*) > 1""",
    "two that run": """
        SELECT tenant, unique_key, array_agg((id, kind, state)) FROM turnstile.job
         WHERE unique_mode IN ('while_executing', 'until_and_while_executing') AND state = 'running' GROUP BY 1, 2 HAVING count(*) > 1""",
    "over the bound": f"SELECT array_agg((id, kind, state)) FROM turnstile.job WHERE queue = 'bounded' AND state <> 'running' HAVING count(*) > {BOUND}",
}


def scene(conn) -> dict:
    configure(conn, "queue", "bounded", max_waiting=BOUND)
    jobs = {"running": enqueue(conn, "running", unique_key="running")}
    claim_just_this(conn, jobs["running"])
    jobs["ended"] = enqueue(conn, "ended", unique_key="waiting")
    claim_just_this(conn, jobs["ended"])
    conn.execute("SELECT turnstile.discard(%s, 1)", [jobs["ended"]])
    jobs["waiting"] = enqueue(conn, "waiting", unique_key="waiting")
    for mode in MODES[1:]:
        jobs[mode] = enqueue(conn, mode, unique_key=mode, unique_mode=mode)
    jobs["bounded"] = enqueue(conn, "bounded", queue="bounded")
    return jobs


def run_all(conn) -> None:
    meetings.run_all(conn, ["default", "bounded"])


def what_is_wrong(conn) -> dict:
    return found_by(conn, WRONG)
