"""A database in which each page of the dashboard has something to show, and what each lever needs to be told."""

import itertools
from dataclasses import dataclass, field

from support.batches import enqueue_batch
from support.calls import call, claim_next, complete, enqueue, fail
from support.sleepers import until

# Names of things, unless a test has others.
PLAIN = {
    name: name
    for name in ("mail", "bulk", "acme", "globex", "main", "thread", "printer", "letter", "worker", "nightly", "unique")
}
SECRET = "s3cret of {}"
ALL_TABLES = """
SELECT relname, CASE relkind WHEN 'S' THEN 'last_value' ELSE 't' END FROM pg_class
 WHERE relnamespace = 'turnstile'::regnamespace AND (relkind = 'S' OR relkind IN ('r', 'p') AND NOT relispartition)
 ORDER BY relname
"""
UNTOLD = "SELECT count(*) FROM turnstile.dependency WHERE NOT is_told"


@dataclass
class World:
    """Its names, and jobs by what became of them."""

    conn: object
    names: dict
    jobs: dict = field(default_factory=dict)
    numbers: object = field(default_factory=lambda: itertools.count(2))

    def __getattr__(self, name: str) -> str:
        return self.names[name]

    def number(self) -> int:
        """One that no limit has yet."""
        return next(self.numbers)

    def job(self, tenant: str = "acme", **arguments) -> int:
        tenant = self.names[tenant]
        secret = SECRET.format(tenant)
        given = {"queue": self.mail, "payload": {"secret": secret}, "metadata": {"secret": secret}} | arguments
        return enqueue(self.conn, self.letter, tenant=tenant, **given)

    def run(self, job: int, queue: str | None = None):
        """Claims a job, which must be the one whose turn it is."""
        claimed = claim_next(self.conn, queue or self.mail, worker=self.worker, lease="1 day")
        assert claimed and claimed.id == job, (claimed, job)
        return claimed

    def failed(self, tenant: str = "acme", **how) -> int:
        """How it ended goes to `fail`. Nothing else may wait in its queue."""
        job = self.job(tenant)
        fail(self.conn, self.run(job), error=f"{self.letter}: {SECRET.format(self.names[tenant])}\nat line 7", **how)
        return job


def _finished(world: World) -> None:
    world.jobs["discarded"] = world.failed(discard=True)
    world.jobs["discarded elsewhere"] = world.failed("globex", discard=True)
    world.jobs["retryable"] = world.failed(retry_in="1 hour")
    done = world.job(unique_key=world.unique)
    complete(world.conn, world.run(done), result={"secret": SECRET.format(world.acme)})
    world.jobs["completed"] = done
    world.jobs["cancelled"] = world.job()
    call(world.conn, "cancel", job_id=world.jobs["cancelled"])


def _running(world: World) -> None:
    job = world.job(account=world.main, session=world.thread, concurrency_key=world.printer)
    run = world.run(job)
    call(world.conn, "progress", job_id=run.id, attempt=run.attempt, done=3, total=10, message=SECRET.format(world.acme))
    world.jobs["running"] = job


def _batch(world: World) -> None:
    children = [{"kind": world.letter, "payload": {"secret": SECRET.format(world.acme)}} for _ in range(4)]
    batch = enqueue_batch(world.conn, world.letter, children, queue=world.bulk, tenant=world.acme, slots=3)
    runs = [claim_next(world.conn, world.bulk, worker=world.worker, lease="1 day") for _ in range(3)]
    complete(world.conn, runs[0])
    fail(world.conn, runs[1], error=world.letter, discard=True)
    world.jobs |= {"batch": batch, "child": runs[2].id}


def _waiting(world: World) -> None:
    where = {"account": world.main, "session": world.thread, "concurrency_key": world.printer}
    world.jobs["waiting"] = world.job(**where)
    world.jobs["waiting elsewhere"] = world.job("globex", queue=world.bulk)
    world.jobs["scheduled"] = world.job(run_at="infinity")
    world.jobs["blocked"] = world.job(after=[world.jobs["waiting"]])


def _settings(world: World) -> None:
    conn = world.conn
    call(conn, "set_queue", name=world.mail, max_running=50)
    call(conn, "set_tenant", name=world.acme, slots=40)
    call(conn, "set_account", tenant=world.acme, name=world.main, slots=30)
    call(conn, "set_concurrency", key=world.printer, slots=1)
    call(conn, "set_endpoint", pattern=world.letter, url="https://endpoint.example/hook")
    conn.execute(
        "INSERT INTO turnstile.recurring (name, cron, kind, payload, queue, tenant) VALUES (%s, '0 3 * * *', %s, '{}', %s, %s)",
        [world.nightly, world.letter, world.mail, world.acme],
    )


def populate(conn, **names: str) -> World:
    world = World(conn, PLAIN | names)
    for make in (_finished, _running, _batch, _waiting, _settings):
        make(world)
    # The background worker tells a job that others come after it.
    until(lambda: conn.execute(UNTOLD).fetchone() == (0,), "all predecessors are told")
    return world


def everything(conn) -> dict[str, list]:
    """All rows of all tables and sequences of the schema: two calls are equal if nothing changed in between."""
    tables = conn.execute(ALL_TABLES).fetchall()
    query = " UNION ALL ".join(f"SELECT '{name}', {row}::text FROM turnstile.{name} AS t" for name, row in tables)
    found: dict[str, list] = {name: [] for name, _ in tables}
    for name, row in conn.execute(query).fetchall():
        found[name].append(row)
    return {name: sorted(each) for name, each in found.items()}


def changes(before: dict, after: dict) -> dict:
    """The tables that differ, with the rows that only one has."""
    return {
        name: (sorted(set(rows) - set(after[name])), sorted(set(after[name]) - set(rows)))
        for name, rows in before.items()
        if rows != after[name]
    }


# ---- Pages and levers -----------------------------------------------------------------------------

# What a page is asked for, so that it shows something.
PARAMETERS = {
    "/queue": lambda w: {"name": w.mail},
    "/tenant": lambda w: {"name": w.acme},
    "/job": lambda w: {"id": w.jobs["waiting"]},
    "/jobs/change": lambda w: {"deed": "retry", "tenant": w.acme, "state": "discarded"},
    "/batch": lambda w: {"id": w.jobs["batch"]},
}


def parameters(world: World, path: str) -> dict:
    return PARAMETERS.get(path, lambda w: {})(world)


def _queue(w: World) -> dict:
    return {"name": w.mail}


def _tenant(w: World) -> dict:
    return {"name": w.acme}


def _account(w: World) -> dict:
    return {"tenant": w.acme, "account": w.main}


def _key(w: World) -> dict:
    return {"key": w.printer}


def _session(w: World) -> dict:
    return {"queue": w.mail, "tenant": w.acme, "session": w.thread, "id": w.jobs["waiting"]}


def _batch_of(w: World) -> dict:
    return {"id": w.jobs["batch"]}


def _after(pause: str, which):
    """What a statement has paused before, or resumed."""

    def make(w: World) -> dict:
        w.conn.execute(f"SELECT turnstile.{pause}", w.names | {"batch": w.jobs["batch"]})
        return which(w)

    return make


def _for(which):
    """A pause that ends by itself, as none did before."""
    return lambda w: which(w) | {"seconds": w.number() * 100}


def _limit(which, name: str = "slots"):
    return lambda w: which(w) | {name: w.number()}


def _discarded(w: World) -> dict:
    job = w.job()
    call(w.conn, "discard", job_id=job)
    return {"id": job}


def _many(w: World, deed: str) -> dict:
    """A kind of its own, so that no other job is meant."""
    kind = f"many {w.number()}"
    job = enqueue(w.conn, kind, tenant=w.acme, queue=w.mail)
    if deed == "retry":
        call(w.conn, "discard", job_id=job)
    return {"tenant": w.acme, "kind": kind}


# What each lever is sent, with all that it needs to change something for a tenant acme.
FIELDS = {
    "/queue/pause": _for(_queue),
    "/queue/resume": _after("pause_queue(%(mail)s)", _queue),
    "/queue/limits": _limit(_queue, "max_running"),
    "/tenant/pause": _for(_tenant),
    "/tenant/resume": _after("pause_tenant(%(acme)s)", _tenant),
    "/tenant/limits": _limit(_tenant),
    "/account/pause": _for(_account),
    "/account/resume": _after("pause_account(%(acme)s, %(main)s)", _account),
    "/account/limits": _limit(_account),
    "/key/pause": _for(_key),
    "/key/resume": _after("pause_concurrency(%(printer)s)", _key),
    "/key/limits": _limit(_key),
    "/session/pause": _for(_session),
    "/session/resume": _after("pause_session(%(mail)s, %(acme)s, %(thread)s)", _session),
    "/batch/limits": _limit(_batch_of),
    "/batch/pause": _after("set_batch(%(batch)s, paused => false)", _batch_of),
    "/batch/resume": _after("set_batch(%(batch)s, paused => true)", _batch_of),
    "/job/retry": _discarded,
    "/job/cancel": lambda w: {"id": w.job()},
    "/job/discard": lambda w: {"id": w.job()},
    "/job/priority": lambda w: {"id": w.jobs["waiting"], "priority": w.number()},
    "/jobs/retry": lambda w: _many(w, "retry"),
    "/jobs/cancel": lambda w: _many(w, "cancel"),
    "/jobs/discard": lambda w: _many(w, "discard"),
    "/change/stop": lambda w: {"number": 1},
}
