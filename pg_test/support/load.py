"""Random jobs and limits over a few names, so that every gate is shared and fought for."""

import random

from support.settings import configure

QUEUES = ["q1", "q2", "q3"]
TENANTS = ["t1", "t2", "t3", "t4"]
ACCOUNTS = ["a1", "a2", "a3"]
KEYS = ["c1", "c2"]

# The first word of a gate's name tells the table; the other words are the key in it.
_COLUMN = {"queue": "max_running", "tenant": "slots", "account": "slots", "concurrency": "slots"}


def random_slots(chance: random.Random, gate: str) -> int:
    """A limit that this gate may have: low enough to be reached, never nought."""
    least, most = {"queue": (3, 7), "tenant": (2, 4), "account": (1, 3), "concurrency": (1, 3)}[gate.split()[0]]
    return chance.randint(least, most)


def random_limits(chance: random.Random) -> dict[str, int]:
    """A limit for every gate except the sessions."""
    gates = [f"queue {queue}" for queue in QUEUES]
    gates += [f"tenant {tenant}" for tenant in TENANTS]
    gates += [f"account {tenant} {account}" for tenant in TENANTS for account in ACCOUNTS]
    gates += [f"concurrency {key}" for key in KEYS]
    return {gate: random_slots(chance, gate) for gate in gates}


def set_limit(conn, gate: str, slots: int | None) -> None:
    table, *key = gate.split()
    configure(conn, table, *key, **{_COLUMN[table]: slots})


def random_job(chance: random.Random) -> dict:
    """A job as an element for enqueue_many. Its payload tells the concurrency key, which a claim does not."""
    tenant = chance.choice([*TENANTS, None])
    key = chance.choice([*KEYS, None, None, None])
    job = {
        "kind": "work",
        "queue": chance.choice(QUEUES),
        "tenant": tenant,
        "account": chance.choice([*ACCOUNTS, None]) if tenant else None,
        "session": chance.choice(["s1", "s2", *[None] * 6]),
        "concurrency_key": key,
        "payload": {"concurrency_key": key},
        "priority": chance.choice([120, 200, 200, 360]),
        "max_attempts": 1000,
    }
    return {name: value for name, value in job.items() if value is not None}


def random_jobs(chance: random.Random, number: int) -> list[dict]:
    return [random_job(chance) for _ in range(number)]


def gates_of(job) -> list[str]:
    """The gates that a claimed job went through, named as in support.sweep."""
    gates = [f"queue {job.queue}"]
    if job.tenant:
        gates.append(f"tenant {job.tenant}")
    if job.account:
        gates.append(f"account {job.tenant} {job.account}")
    if job.payload["concurrency_key"]:
        gates.append(f"concurrency {job.payload['concurrency_key']}")
    if job.session:
        gates.append(f"session {job.queue} {job.tenant or ''} {job.session}")
    return gates
