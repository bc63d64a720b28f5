"""Jobs behind limits and in sessions, and calls about them, any two of which may meet: no limit is ever passed."""

from support import meetings
from support.batches import enqueue_batch, of
from support.calls import enqueue
from support.families import claim_just_this
from support.meetings import found_by
from support.settings import configure

RUNS = ["busy", "of_one", "keyed", "unique", "lapsed"]
WAITING = ["turn", "second", "free", "next_of_one", "next_keyed", "next_unique", "due", "rated"]
MOVES = {
    "to the busy session": "queue = 'to', tenant = NULL, session = 's'",
    "to the tenant": "tenant = 'one', session = NULL",
    "behind the key": "concurrency_key = 'key'",
    "to the front": "priority = -9",
    "elsewhere": "queue = 'elsewhere', tenant = 'other'",
}
QUEUES = ["from", "to", "default", "elsewhere"]

VERBS = {
    f"claim from {queue}": f"SELECT id, attempt FROM turnstile.claim(ARRAY['{queue}'], 9)" for queue in [*QUEUES, "*"]
} | {
    "claim one": "SELECT id, attempt FROM turnstile.claim_next('*')",
    "claim in turn": "SELECT id, attempt FROM turnstile.claim(ARRAY['to', 'from', 'default'], 2)",
} | {
    f"{verb} {run}": f"SELECT turnstile.{verb}(%({run})s, 1{arguments})"
    for verb, arguments in {
        "complete": "", "fail": ", 'no luck', '0'", "release": "", "snooze": ", '0'", "complete_and_claim_next": "",
    }.items()
    for run in RUNS
} | {
    f"{verb} {job}": f"SELECT turnstile.{verb}(%({job})s)" for verb in ("cancel", "discard") for job in [*WAITING, "busy", "unique"]
} | {
    # What waits: an administrator may move what runs past any limit.
    f"move {job} {where}": f"UPDATE turnstile.job SET {columns} WHERE id = %({job})s AND state IN ('available', 'scheduled')"
    for job in WAITING
    for where, columns in MOVES.items()
} | {
    f"put off {job}": f"UPDATE turnstile.job SET state = 'scheduled', run_at = clock_timestamp() + interval '1 hour' WHERE id = %({job})s AND state = 'available'"
    for job in WAITING
} | {
    "room for another of the tenant": "UPDATE turnstile.tenant SET slots = 2 WHERE name = 'one'",
    "pause the tenant": "UPDATE turnstile.tenant SET paused = true WHERE name = 'one'",
    "a default for keys": "INSERT INTO turnstile.concurrency (key, slots) VALUES ('*', 1) ON CONFLICT DO NOTHING",
    "delete the limit of the key": "DELETE FROM turnstile.concurrency WHERE key = 'key'",
    "rescue": "SELECT turnstile.rescue()",
    "rebuild": "SELECT turnstile.rebuild()",
    "enqueue into the session": "SELECT turnstile.enqueue('late', queue => 'from', session => 's', priority => -5)",
    "enqueue under the key": "SELECT turnstile.enqueue('late', unique_key => 'u', unique_mode => 'while_executing')",
}  # fmt: skip

# Of what runs or holds, more than may.
WRONG = {
    "check": "SELECT problem, detail FROM turnstile.check()",
    "sessions": """
        SELECT queue, tenant, session, array_agg((id, kind, state)) FROM turnstile.job
         WHERE session IS NOT NULL AND (state = 'running' OR holds_session) GROUP BY 1, 2, 3 HAVING count(*) > 1""",
    "tenants": """
        SELECT job.tenant, count(*) FROM turnstile.job JOIN turnstile.tenant ON tenant.name = job.tenant
         WHERE job.state = 'running' GROUP BY job.tenant, tenant.slots HAVING count(*) > tenant.slots""",
    "keys": """
        SELECT job.concurrency_key, count(*) FROM turnstile.job JOIN turnstile.concurrency ON concurrency.key = job.concurrency_key
         WHERE job.state = 'running' GROUP BY job.concurrency_key, concurrency.slots HAVING count(*) > concurrency.slots""",
    "unique keys": """
        SELECT tenant, unique_key, count(*) FROM turnstile.job
         WHERE unique_key IS NOT NULL AND state = 'running' GROUP BY 1, 2 HAVING count(*) > 1""",
    "starts before their time": "SELECT id, kind FROM turnstile.jobs WHERE state IN ('running', 'completed') AND claimed_at < run_at",
}


def scene(conn) -> dict:
    """A run at each limit, and what waits behind it."""
    configure(conn, "tenant", "one", slots=1)
    configure(conn, "concurrency", "key", slots=1)
    configure(conn, "tenant", "rated", rate=1000, burst=1000)
    unique = {"unique_key": "u", "unique_mode": "while_executing"}
    jobs = {}
    for name, columns in {
        "busy": {"queue": "to", "session": "s"}, "of_one": {"tenant": "one"}, "keyed": {"concurrency_key": "key"}, "unique": unique, "lapsed": {},
    }.items():  # fmt: skip
        jobs[name] = enqueue(conn, name, **columns)
        lease = {"lease": "1 millisecond"} if name == "lapsed" else {}
        claim_just_this(conn, jobs[name], columns.get("queue", "default"), **lease)
    jobs["turn"] = enqueue_batch(conn, "turn", children=of(1), queue="from", session="s")
    for name, columns in {
        "second": {"queue": "from", "session": "s"}, "free": {"queue": "from"}, "next_of_one": {"tenant": "one"},
        "next_keyed": {"concurrency_key": "key"}, "next_unique": unique, "rated": {"tenant": "rated"},
    }.items():  # fmt: skip
        jobs[name] = enqueue(conn, name, **columns)
    [[jobs["due"]]] = conn.execute("SELECT turnstile.enqueue('due', tenant => 'one', run_at => clock_timestamp() + interval '2 milliseconds')").fetchall()
    return jobs


def run_all(conn) -> None:
    conn.execute("UPDATE turnstile.tenant SET paused = false")
    meetings.run_all(conn, QUEUES)


def what_is_wrong(conn) -> dict:
    return found_by(conn, WRONG)
