"""Each command behind PgBouncer in transaction mode, which gives each statement any connection."""

import json

import pytest

from support import program
from support.calls import call, claim_next, enqueue
from support.pgbouncer import pgbouncer
from support.program import Follower
from support.terminal import terminal


@pytest.fixture
def place(db):
    """Other programs use the same few connections."""
    with pgbouncer(db.name) as pooler:
        others = [pooler.connect(db.name) for _ in range(3)]
        for other in others:
            other.execute("SELECT 1")
        yield f"host=127.0.0.1 port={pooler.port} dbname={db.name} user=postgres"
        for other in others:
            other.close()


def _end(conn) -> int:
    run = claim_next(conn)
    call(conn, "complete", job_id=run.id, attempt=run.attempt)
    return run.id


def test_commands(place, conn):
    job_id = int(program.run(place, "enqueue", "mail", '{"order": 7}'))
    assert json.loads(program.run(place, "why", job_id, "--json"))["id"] == job_id
    assert program.run(place, "cancel", job_id) == f"job {job_id}: cancelled\n"
    assert program.run(place, "retry", "--state", "cancelled", "--json") == '{"jobs":1}\n'
    assert program.run(place, "check") == ""
    assert json.loads(program.run(place, "top", "queues", "--once", "--json"))["queues"][0]["waiting"] == 1
    assert _end(conn) == job_id


def test_tail(place, conn):
    with Follower("-d", place, "tail", "--json") as tail:
        for _ in range(2):
            enqueue(conn)
            ended = _end(conn)
            assert tail.object()["id"] == ended


def test_top(place, conn):
    enqueue(conn, queue="alpha")
    with terminal(program.PROGRAM, "-d", place, "top", "--every", "250ms") as top:
        top.await_screen("connected", "alpha")
        enqueue(conn, queue="beta")
        top.await_screen("connected", "alpha", "beta")
