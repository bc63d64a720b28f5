"""A panic in the middle of a scheduler step leads to a rebuild: no wrong answer, no stopped server.

Needs a build with the feature fault_injection: see `make test-injected`.
"""

import contextlib

import psycopg
import pytest

from faults.cluster import own_cluster
from faults.witness import has_each_once, is_sound, run_to_the_end, within
from support import naive
from support.calls import (
    claim, claim_next, complete, complete_and_claim_next, complete_many, enqueue, enqueue_times, fail, release,
)  # fmt: skip
from support.database import fresh_database
from support.settings import configure

pytestmark = pytest.mark.injected

SLOTS = {"tenant acme": 2, "queue default": 6}
PANICS_AT = range(1, 41)


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_injected", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _roll_back_a_claim(conn, run) -> None:
    conn.execute("BEGIN")
    claim_next(conn)
    conn.execute("ROLLBACK")


def _roll_back_to_a_savepoint(conn, run) -> None:
    conn.execute("BEGIN; SAVEPOINT s")
    claim_next(conn)
    conn.execute("ROLLBACK TO SAVEPOINT s")
    claim_next(conn)
    conn.execute("COMMIT")


def _commit_many_changes(conn, run) -> None:
    conn.execute("BEGIN")
    complete(conn, run)
    claim_next(conn)
    enqueue(conn, tenant="acme", session="chat-1")
    conn.execute("COMMIT")


VERBS = {
    "claim": lambda conn, run: claim(conn, ["default"], 3),
    "complete": complete,
    "complete_many": lambda conn, run: complete_many(conn, [run]),
    "complete_and_claim_next": complete_and_claim_next,
    "fail": lambda conn, run: fail(conn, run, retry_in="1 millisecond"),
    "release": release,
    "enqueue": lambda conn, run: enqueue(conn, tenant="acme", session="chat-1"),
    "rollback of a claim": _roll_back_a_claim,
    "rollback to a savepoint": _roll_back_to_a_savepoint,
    "commit of many changes": _commit_many_changes,
    "UPDATE of priorities": lambda conn, run: conn.execute("UPDATE turnstile.job SET priority = 1 - priority"),
    "UPDATE of a limit": lambda conn, run: conn.execute("UPDATE turnstile.tenant SET slots = 2"),
    "rebuild": lambda conn, run: conn.execute("SELECT turnstile.rebuild()"),
}  # fmt: skip


def _fill(conn) -> None:
    configure(conn, "tenant", "acme", slots=SLOTS["tenant acme"])
    configure(conn, "queue", "default", max_running=SLOTS["queue default"])
    enqueue_times(conn, 150, tenant="acme")
    for number in range(60):
        enqueue(conn, session=f"chat-{number % 5}", tenant="globex", priority=number % 2)


def _with_a_panic(db, verb, run, panic_at: int) -> bool:
    """Does it with a panic armed; whether the call failed. A callback says nothing of its panic."""
    with contextlib.closing(db.connect()) as victim:
        victim.execute(f"SET turnstile.panic_at = {panic_at}")
        try:
            verb(victim, run)
        except psycopg.Error as error:
            # The server's answer, not a connection that went away.
            assert error.sqlstate, f"the connection was lost: {error}"
            return True
    return False


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_a_panic_at_any_change_of_a_slot_is_followed_by_a_rebuild(cluster, db, conn, verb):
    postmaster = cluster.pid
    failed = 0
    _fill(conn)
    for panic_at in PANICS_AT:
        run = claim_next(conn)
        assert run is not None, f"before panic {panic_at}: nothing may run any more"
        failed += _with_a_panic(db, verb, run, panic_at)
        is_sound(conn)
        within(conn, SLOTS)
        # Some are left running, so that a rebuild has something to count.
        conn.execute(
            "SELECT turnstile.complete(id, attempt) FROM"
            " (SELECT id, attempt FROM turnstile.job WHERE state = 'running' ORDER BY id OFFSET 1) run"
        )
    assert failed or verb is not VERBS["claim"], "no panic was met"
    is_sound(conn)
    made = [row[0] for row in conn.execute("SELECT id FROM turnstile.jobs")]
    conn.execute("UPDATE turnstile.job SET state = 'available' WHERE state <> 'available'")
    naive.claim_all_as_predicted(conn, ["default"])
    within(conn, SLOTS)
    run_to_the_end(conn, ["default"], SLOTS)
    is_sound(conn)
    has_each_once(conn, made)
    assert cluster.pid == postmaster
    assert "terminated by signal" not in cluster.log
    assert "server process" not in cluster.log


def test_panics_while_others_hold_open_claims(cluster, db, conn, other):
    """The room of open claims outlives the rebuild, whether they commit or not."""
    configure(conn, "tenant", "acme", slots=3)
    made = enqueue_times(conn, 8, tenant="acme")
    for panic_at in PANICS_AT:
        with contextlib.closing(db.connect()) as holder:
            holder.execute("BEGIN")
            held = claim_next(holder)
            _with_a_panic(db, _roll_back_a_claim, held, panic_at)
            free = claim(other, ["default"], 9)
            assert len(free) == 2, f"after panic {panic_at}"
            holder.execute("COMMIT" if panic_at % 2 else "ROLLBACK")
        is_sound(conn)
        within(conn, {"tenant acme": 3})
        for run in [*free, *([held] if panic_at % 2 else [])]:
            assert release(conn, run) is True
    run_to_the_end(conn, ["default"], {"tenant acme": 3})
    is_sound(conn)
    has_each_once(conn, made)
    assert "terminated by signal" not in cluster.log


def test_every_step_of_a_session_panics_and_its_end_too(cluster, db, conn):
    """The abort after a panic may meet the next one: that must not end the server."""
    postmaster = cluster.pid
    configure(conn, "tenant", "acme", slots=3)
    made = enqueue_times(conn, 20, tenant="acme")
    with contextlib.closing(db.connect()) as victim:
        for panic_at in [*PANICS_AT] * 2:
            victim.execute(f"SET turnstile.panic_at = {panic_at}")
            for statement in ("BEGIN", "SELECT * FROM turnstile.claim_next()", "SAVEPOINT s",
                              "SELECT * FROM turnstile.claim_next()", "ROLLBACK TO SAVEPOINT s", "COMMIT"):  # fmt: skip
                with contextlib.suppress(psycopg.Error):
                    victim.execute(statement)
            assert not victim.closed
            is_sound(conn)
            within(conn, {"tenant acme": 3})
            conn.execute("UPDATE turnstile.job SET state = 'available' WHERE state = 'running'")
    run_to_the_end(conn, ["default"], {"tenant acme": 3})
    is_sound(conn)
    has_each_once(conn, made)
    assert cluster.pid == postmaster
