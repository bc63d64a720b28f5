"""The names that clients fight over, and random jobs and limits for them.

What is named `free` has a row of its own without a limit, so that some jobs never wait for room.
"""

import random
from datetime import UTC, datetime, timedelta

# Jobs that name no queue go where a route sends their kind, else to `default`.
QUEUES = ["q1", "q2", "q3", "free", "default"]
# Sessions of this queue do not wait for a failed job.
PASSING = "q3"
# Claims from these do not wait for the disk.
QUICK = ["free", "q3"]
# Its tenants share its starts by weight.
FAIR = "q2"
# Their backlogs have bounds, always: others would be counted from some time on.
BOUNDED = [("queue", ["q1"]), ("tenant", ["t3"])]
# What a tenant without a row has by default is 1.
WEIGHTS = {"t1": 1, "t2": 2, "t3": 5}
TENANTS = ["t1", "t2", "t3", "free"]
ACCOUNTS = ["a1", "a2"]
KEYS = ["c1", "c2"]
SESSIONS = ["s1", "s2", "s3"]
UNIQUE_MODES = ["until_executing", "until_executed", "until_expired", "while_executing", "until_and_while_executing", "replace"]
PRIORITIES = [-5, 0, 0, 0, 5]

_KEY = {"queue": "(name)", "tenant": "(name)", "account": "(tenant, name)", "concurrency": "(key)"}
_LIMIT = {"queue": "max_running", "tenant": "slots", "account": "slots", "concurrency": "slots"}
_NAMES = {
    "queue": [[queue] for queue in QUEUES if queue != "free"] + [["*"]],
    "tenant": [[tenant] for tenant in TENANTS if tenant != "free"] + [["*"]],
    "account": [["t1", "a1"], ["t1", "*"], ["t2", "a1"], ["t2", "a2"], ["*", "*"]],
    "concurrency": [["c1"], ["c2"], ["*"]],
}
# What is paused by name; of sessions only some, so that others are sure to go on.
PAUSED = [("queue", ["q1"]), ("tenant", ["t2"]), ("account", ["t1", "a2"]), ("session", ["q2", "t1", "s3"]), ("session", ["q2", None, "s3"])]
# Patterns of kinds; a kind is the name of a call, which begins with its producer.
KINDS = ["producer0:*", "producer1:*", "*7"]
# What cancel_many and its like choose by.
FILTERS = [("queue", QUEUES), ("tenant", TENANTS), ("session", SESSIONS), ("state", ["retryable", "scheduled"])]
_MOST = {"queue": 14, "tenant": 8, "account": 4, "concurrency": 3}


def job(chance: random.Random, kind: str) -> dict:
    """A job as an element for enqueue_many; its kind tells the call that asked for it."""
    tenant = chance.choice([*TENANTS, None, None])
    found = {
        "kind": kind,
        "queue": chance.choice(QUEUES),
        "tenant": tenant,
        "account": chance.choice([*ACCOUNTS, None]) if tenant and tenant != "free" else None,
        "session": chance.choice([*SESSIONS, *[None] * 9]),
        "concurrency_key": chance.choice([*KEYS, *[None] * 6]),
        "priority": chance.choice(PRIORITIES),
        "max_attempts": chance.choice([1, 2, 3, 25, 25, 25]),
        "payload": {"bytes": "x" * chance.choice([0, 10, 200])},
    }
    return {name: value for name, value in found.items() if value is not None}


def with_unique_key(chance: random.Random, found: dict) -> dict:
    """Now and then a job with a unique key; a key is always used in the same mode, which its name tells."""
    if chance.random() < 0.1:
        mode = chance.choice(UNIQUE_MODES)
        found |= {"unique_key": f"{mode} {chance.randint(1, 3)}", "unique_mode": mode}
        if mode == "until_expired" or mode == "until_executed" and chance.random() < 0.5:
            found["unique_for"] = f"{chance.choice([20, 200, 2000])} milliseconds"
    return found


def batch(chance: random.Random, kind: str) -> tuple[dict, list[dict]]:
    """A parent with its settings, and its children. Sessions are only where nobody waits for what waits for it: a parent in
    one has children without."""
    parent = job(chance, kind)
    children = [_child(chance, kind, parent) for _ in range(chance.randint(0, 5))]
    parent |= {
        "slots": chance.choice([None, 1, 2]),
        "max_failed": chance.choice([None, None, 0, 1]),
        "on_end": chance.choice(["run", "run", "run_if_all_completed", "complete"]),
    }
    return parent, children


def _child(chance: random.Random, kind: str, parent: dict) -> dict:
    found = job(chance, kind)
    if "session" in parent:
        found.pop("session", None)
    return found


def child_of(chance: random.Random, kind: str, parent: int) -> dict:
    """A job that is added to another, whose session nobody knows here."""
    found = job(chance, kind) | {"parent": parent}
    found.pop("session", None)
    return found


def batch_setting(chance: random.Random) -> dict:
    """Columns to set for a batch."""
    return {
        "slots": chance.choice([None, 1, 2, 3]),
        "paused": chance.random() < 0.05,
        "paused_until": soon(chance) if chance.random() < 0.1 else None,
        "rate": 50 if chance.random() < 0.1 else None,
        "priority": chance.choice([None, None, None, -5, 5]),
    }


def to_be_routed(chance: random.Random, found: dict) -> dict:
    """Now and then a job for the functions that leaves its queue to the routes."""
    if chance.random() < 0.1:
        del found["queue"]
    return found


def setting(chance: random.Random) -> tuple[str, list[str], dict]:
    """A table of settings, a key of it, and columns to set there: low limits, inherited ones, none, nought, pauses, rates."""
    table = chance.choice(list(_NAMES))
    key = chance.choice(_NAMES[table])
    if key == ["*"]:
        return table, key, {_LIMIT[table]: chance.choice([None, -1, _MOST[table]])}
    limit = 0 if chance.random() < 0.04 else chance.choice([None, -1, *range(1, _MOST[table] + 1)])
    columns = {_LIMIT[table]: limit, "rate": None, "burst": None}
    if chance.random() < 0.08:
        columns |= {"rate": chance.choice([20, 100]), "burst": chance.choice([None, 5])}
    if (table, key) in BOUNDED:
        columns["max_waiting"] = chance.choice([5, 10, 20])
    if table == "tenant":
        columns["weight"] = WEIGHTS[key[0]]
    if table != "concurrency":
        columns |= {"paused": chance.random() < 0.04, "paused_until": soon(chance) if chance.random() < 0.04 else None}
    return table, key, columns


def soon(chance: random.Random) -> str:
    """A time that comes within a second."""
    return (datetime.now(UTC) + timedelta(seconds=chance.random())).isoformat()


def upsert(table: str, key: list[str], columns: dict) -> tuple[str, list]:
    """The statement that gives a row of settings these columns, and its values."""
    names = _KEY[table].strip("()").split(", ") + list(columns)
    statement = (
        f"INSERT INTO turnstile.{table} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
        f" ON CONFLICT {_KEY[table]} DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in columns)}"
    )
    return statement, [*key, *columns.values()]


def first_rows() -> list[tuple[str, list]]:
    """The rows of what is never limited, and of the queues that are not like the others."""
    return [
        upsert("queue", ["free"], {"max_running": -1}),
        upsert("queue", [PASSING], {"session_on_retry": "pass"}),
        upsert("queue", [FAIR], {"policy": "fair"}),
        *[upsert("queue", [queue], {"durable_claims": False}) for queue in QUICK],
        upsert("tenant", ["free"], {"slots": -1}),
        *[upsert(table, key, {"max_waiting": 10}) for table, key in BOUNDED],
    ]


def removal(table: str, key: list[str]) -> tuple[str, list]:
    """The statement that takes a row of settings away; the defaults of queues stay."""
    return f"DELETE FROM turnstile.{table} WHERE {_KEY[table]} = ({', '.join(['%s'] * len(key))})", key
