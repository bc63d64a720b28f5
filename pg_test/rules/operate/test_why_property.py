"""In random worlds: why_waiting() is empty exactly for the job that the next claim takes, and what it names is in the way."""

import random

import psycopg
import pytest
from psycopg import sql

from support.calls import call, cancel, claim_next, complete, enqueue, fail
from support.settings import configure

QUEUES = ["q", "r"]
TENANTS = [None, "a", "b"]
WAITS = "SELECT id FROM turnstile.job WHERE state <> 'running' ORDER BY id"


@pytest.fixture
def rng(seed):
    return random.Random(seed)


def _maybe(rng, values, chance=0.5):
    return rng.choice(values) if rng.random() < chance else None


def _job(rng) -> dict:
    tenant = rng.choice(TENANTS)
    given = {
        "queue": rng.choice(QUEUES), "tenant": tenant, "priority": rng.choice([0, 0, 0, 1, -1]),
        "account": _maybe(rng, ["x", "y"]) if tenant else None, "session": _maybe(rng, ["s", "t"], 0.4),
        "concurrency_key": _maybe(rng, ["k", "l"], 0.4),
    }  # fmt: skip
    if rng.random() < 0.3:
        given |= {"unique_key": rng.choice(["u", "v"]), "unique_mode": "while_executing"}
    if rng.random() < 0.15:
        given["run_at"] = "2999-01-01"
    return {name: value for name, value in given.items() if value is not None}


def _limit(conn, rng) -> None:
    table, key = rng.choice(
        [("queue", ("q",)), ("queue", ("r",)), ("tenant", ("a",)), ("tenant", ("b",)), ("account", ("a", "x")), ("concurrency", ("k",))]
    )
    column = "max_running" if table == "queue" else "slots"
    settings = {column: rng.choice([None, 0, 1, 2, 5])}
    if table != "concurrency" and rng.random() < 0.3:
        settings["paused"] = rng.random() < 0.5
    if table != "concurrency" and rng.random() < 0.3:
        settings["paused_until"] = rng.choice([None, "2999-01-01"])
    if rng.random() < 0.3:
        settings |= {"rate": rng.choice([None, 1]), "rate_per": "1000 hours"}
    if table == "queue" and rng.random() < 0.3:
        settings["policy"] = rng.choice(["fair", "fifo"])
    if table == "queue" and rng.random() < 0.2:
        settings["aging"] = rng.choice([None, "1 hour"])
    configure(conn, table, *key, **settings)


def _slow(conn, rng) -> None:
    change = rng.randrange(4)
    if change == 0:
        call(conn, "resume_concurrency", key="k")
    elif change == 1:
        call(conn, "pause_concurrency", key="k", until=rng.choice([None, "2001-01-01", "2999-01-01"]))
    else:
        conn.execute(
            "INSERT INTO turnstile.slowed_key (key, one_at_a_time) VALUES ('k', %(on)s)"
            " ON CONFLICT (key) DO UPDATE SET one_at_a_time = %(on)s",
            {"on": change == 2},
        )


def _step(conn, rng, runs) -> None:
    what = rng.random()
    if what < 0.45:
        enqueue(conn, **_job(rng))
    elif what < 0.6:
        _limit(conn, rng)
    elif what < 0.8:
        job = claim_next(conn, rng.choice(QUEUES))
        if job:
            runs.append(job)
    elif what < 0.84:
        call(conn, "pause_session", queue="q", tenant=rng.choice(TENANTS), session="s")
    elif what < 0.86:
        call(conn, "resume_session", queue="q", tenant=rng.choice(TENANTS), session="s")
    elif what < 0.88:
        _slow(conn, rng)
    elif runs:
        run = runs.pop(rng.randrange(len(runs)))
        rng.choice([complete, lambda conn, run: fail(conn, run, retry_in="1000 hours")])(conn, run)


def _why(conn, job: int) -> list:
    return call(conn, "why_waiting", job_id=job)


def _next(conn, queue: str) -> int | None:
    """What the next claim takes. It is undone, but charged where a queue is fair or has a rate: nothing is asked after it."""
    conn.execute("BEGIN")
    job = claim_next(conn, queue)
    conn.execute("ROLLBACK")
    return job.id if job else None


def _is_exact(conn, waiting: list[tuple[int, str]]) -> None:
    """Nothing keeps exactly those jobs that the next claims take."""
    reasons = {job: _why(conn, job) for job, _ in waiting}
    after = {queue: _next(conn, queue) for queue in QUEUES}
    for job, queue in waiting:
        assert (reasons[job] == []) == (after[queue] == job), (job, queue, reasons[job], after)


def _attend(conn) -> None:
    for queue in QUEUES:
        _next(conn, queue)


def _remove(conn, job, row) -> None:
    """Does away with one reason."""
    if row.reason in ("scheduled", "retry"):
        conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE id = %s", [job])
        call(conn, "promote")
    elif row.reason in ("paused", "full", "rate"):
        _open(conn, job, row.gate)
    elif row.reason in ("session_busy", "unique_running", "session_order", "behind"):
        assert row.holder is not None, row
        state = cancel(conn, row.holder)
        if state == "running":
            conn.execute("DELETE FROM turnstile.job WHERE id = %s", [row.holder])
    else:
        raise AssertionError(row)


def _open(conn, job, gate) -> None:
    names = conn.execute("SELECT queue, tenant, account, session, concurrency_key FROM turnstile.job WHERE id = %s", [job]).fetchone()
    queue, tenant, account, session, key = names
    free = {"paused": False, "paused_until": None, "rate": None}
    if gate == "queue":
        configure(conn, "queue", queue, max_running=None, **free)
    elif gate == "tenant":
        configure(conn, "tenant", tenant, slots=None, **free)
    elif gate == "account":
        configure(conn, "account", tenant, account, slots=None, **free)
    elif gate == "concurrency":
        configure(conn, "concurrency", key, slots=None, rate=None)
        call(conn, "resume_concurrency", key=key)
    else:
        call(conn, "resume_session", queue=queue, tenant=tenant, session=session)


def _world(conn, rng) -> list:
    runs = []
    for _ in range(rng.randrange(20, 60)):
        _step(conn, rng, runs)
    _attend(conn)
    return runs


@pytest.mark.parametrize("number", range(12))
def test_nothing_is_in_the_way_of_exactly_the_next_job(conn, rng, number):
    _world(conn, rng)
    waiting = [job for (job,) in conn.execute(WAITS).fetchall()]
    of_queue = dict(conn.execute("SELECT id, queue FROM turnstile.job").fetchall())
    for _ in range(4):
        _is_exact(conn, [(job, of_queue[job]) for job in waiting])
        runs = [claim_next(conn, queue) for queue in QUEUES]
        waiting = [job for job in waiting if job not in {run.id for run in runs if run}]
    assert conn.execute("SELECT count(*) FROM turnstile.check()").fetchone() == (0,)


@pytest.mark.parametrize("number", range(6))
def test_a_job_of_which_all_reasons_are_removed_is_next(conn, rng, number):
    _world(conn, rng)
    waiting = [job for (job,) in conn.execute(WAITS).fetchall()]
    for job in rng.sample(waiting, min(4, len(waiting))):
        if conn.execute("SELECT state FROM turnstile.job WHERE id = %s", [job]).fetchone() in (None, ("running",)):
            continue
        seen = set()
        for _ in range(300):
            reasons = _why(conn, job)
            if not reasons:
                break
            seen |= {row.reason for row in reasons}
            _remove(conn, job, rng.choice(reasons))
        else:
            raise AssertionError((job, reasons))
        queue = conn.execute("SELECT queue FROM turnstile.job WHERE id = %s", [job]).fetchone()[0]
        assert claim_next(conn, queue).id == job, seen


@pytest.mark.parametrize("number", range(4))
def test_what_another_session_holds_open_is_seen(conn, other, rng, number):
    """Locked rows, open claims, and jobs that were added and not committed."""
    _world(conn, rng)
    other.execute("BEGIN")
    other.execute("SELECT FROM turnstile.job WHERE state = 'available' ORDER BY random() LIMIT 2 FOR UPDATE")
    claim_next(other, "q")
    waiting = conn.execute("SELECT id, queue FROM turnstile.job WHERE state <> 'running' ORDER BY id").fetchall()
    _is_exact(conn, waiting)
    other.execute("ROLLBACK")


def test_who_may_not_ask_is_refused(conn, role):
    job = enqueue(conn)
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA turnstile TO {}").format(sql.Identifier(role)))
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    for function in ("why_waiting", "wait_estimate"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            call(conn, function, job_id=job)
    conn.execute("RESET ROLE")
