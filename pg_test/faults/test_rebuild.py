"""Memory may be lost at any time: what is rebuilt from the tables admits exactly what may run."""

import random

import pytest

from faults.cluster import own_cluster
from faults.mixture import admits_what_may_run, fill
from faults.witness import Sampler, has_each_once, is_sound, run_to_the_end, within
from support import rows
from support import naive
from support.calls import (
    claim, claim_all, claim_next, complete, complete_and_claim_next, enqueue, enqueue_many, enqueue_times, fail, ids,
)  # fmt: skip
from support.client import RestlessClient
from support.crew import Progress, together
from support.database import fresh_database
from support.load import QUEUES, random_jobs, random_limits, set_limit
from support.runlog import Limits, repeated, violations
from support.settings import configure


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_rebuild", fsync="off", max_connections=200) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _clean_restart(cluster, conn):
    cluster.restart()


def _crash(cluster, conn):
    cluster.restart(immediate=True)


def _by_hand(cluster, conn):
    conn.execute("SELECT turnstile.rebuild()")


@pytest.mark.parametrize("lose", [_clean_restart, _crash, _by_hand], ids=["restart", "immediate stop", "rebuild()"])
def test_lost_memory_is_rebuilt_and_admits_what_may_run(cluster, db, conn, lose, seed):
    slots, made = fill(conn, seed)
    lose(cluster, conn)
    admits_what_may_run(db.connect(), slots, made)


@pytest.mark.parametrize("immediate", [False, True], ids=["restart", "immediate stop"])
def test_many_connections_at_the_same_moment_after_a_restart_pass_no_limit(cluster, db, conn, immediate, seed):
    slots, made = fill(conn, seed)
    cluster.restart(immediate)
    connections = [db.connect() for _ in range(16)]
    claimed = together([lambda c=c: claim(c, QUEUES, 3) for c in connections])
    handed_out = [job.id for jobs in claimed for job in jobs]
    assert handed_out
    assert len(set(handed_out)) == len(handed_out)
    within(connections[0], slots)
    admits_what_may_run(connections[0], slots, made)


def test_truncated_jobs_hold_nothing_any_more(db, conn):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 3, tenant="acme")
    assert claim_next(conn) is not None
    conn.execute("TRUNCATE turnstile.job")
    assert claim_next(conn) is None
    is_sound(conn)
    fresh = enqueue_times(conn, 2, tenant="acme")
    assert ids(claim_all(conn)) == fresh[:1]
    is_sound(conn)


def test_a_rolled_back_truncate_changes_nothing(db, conn, other):
    configure(conn, "tenant", "acme", slots=2)
    made = enqueue_times(conn, 3, tenant="acme")
    assert claim_next(conn).id == made[0]
    conn.execute("BEGIN; SAVEPOINT s; TRUNCATE turnstile.job; ROLLBACK TO SAVEPOINT s; COMMIT")
    conn.execute("BEGIN; TRUNCATE turnstile.job; ROLLBACK")
    assert ids(claim_all(other)) == made[1:2]
    is_sound(other)


def test_an_extension_made_again_knows_nothing_of_the_one_before(db, conn, other):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 3, tenant="acme")
    assert claim_next(other) is not None
    conn.execute("DROP EXTENSION turnstile CASCADE")
    conn.execute("CREATE EXTENSION turnstile")
    for connection in (conn, other, db.connect()):
        assert claim_next(connection) is None
        is_sound(connection)
    configure(conn, "tenant", "acme", slots=1)
    fresh = enqueue_times(other, 2, tenant="acme")
    assert ids(claim_all(conn)) == fresh[:1]
    assert claim_next(other) is None
    is_sound(other)


def test_dropped_and_rolled_back_is_as_before(db, conn, other):
    configure(conn, "tenant", "acme", slots=1)
    made = enqueue_times(conn, 2, tenant="acme")
    run = claim_next(conn)
    conn.execute("BEGIN; DROP EXTENSION turnstile CASCADE; ROLLBACK")
    assert claim_next(other) is None
    assert complete_and_claim_next(conn, run).id == made[1]
    is_sound(other)


@pytest.mark.parametrize("case", range(2))
def test_rebuilds_under_load_pass_no_limit(db, conn, case, seed):
    """Producers, finishers and open claims go on while memory is rebuilt again and again."""
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    made, batches = [], [random_jobs(chance, 10) for _ in range(80)]
    progress = Progress(800)
    clients = [RestlessClient(db.connect(), seed + n, progress) for n in range(6)]
    sampler = Sampler(db.connect, progress, slots)
    rebuilds = 0

    def produce():
        for batch in batches:
            made.extend(ids(enqueue_many(conn, batch)))

    def rebuild():
        nonlocal rebuilds
        connection = db.connect()
        while progress.going:
            connection.execute("SELECT turnstile.rebuild()")
            rebuilds += 1

    together([*[client.work for client in clients], produce, rebuild, sampler], progress)

    runs = [run for client in clients for run in client.log.runs]
    assert rebuilds > 10
    assert violations(runs, Limits(slots)) == []
    assert repeated(runs) == []
    sampler.saw_no_limit_passed()
    is_sound(conn)
    has_each_once(conn, made)
    enqueue_many(conn, random_jobs(chance, 200))
    assert len(naive.claim_all_as_predicted(conn, QUEUES)) > 0


OWN_CHANGES = {
    "claimed": lambda conn, run: claim_next(conn),
    "completed": complete,
    "claimed with what it freed": lambda conn, run: complete_and_claim_next(conn, run),
    "completed and claimed": lambda conn, run: (claim_next(conn), complete(conn, run)),
    "failed": lambda conn, run: fail(conn, run, retry_in="1 hour"),
    "deleted": lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id]),
    "enqueued": lambda conn, run: enqueue(conn, tenant="acme", priority=-1),
}


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("change", OWN_CHANGES.values(), ids=OWN_CHANGES.keys())
def test_a_rebuild_by_a_transaction_older_than_one_that_has_ended(db, conn, other, change, end):
    """The rebuild's snapshot does not see its own transaction, though that is older than others which it sees."""
    configure(conn, "tenant", "acme", slots=2)
    enqueue_times(conn, 5, tenant="acme")
    run = claim_next(conn)
    conn.execute("BEGIN")
    change(conn, run)
    enqueue(other, tenant="globex")
    conn.execute("SELECT turnstile.rebuild()")
    is_sound(other)
    conn.execute(end)
    is_sound(other)
    naive.claim_all_as_predicted(other, ["default"])
    within(other, {"tenant acme": 2})
    is_sound(other)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_rebuild_in_a_transaction_that_has_itself_changed_jobs(db, conn, other, end):
    configure(conn, "tenant", "acme", slots=2)
    made = enqueue_times(conn, 5, tenant="acme")
    run = claim_next(conn)
    conn.execute("BEGIN")
    assert claim_next(conn).id == made[1]
    assert complete(conn, run) is True
    assert claim_next(conn).id == made[2]
    own = enqueue(conn, tenant="acme", priority=-1)
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn) is None
    assert claim_next(other) is None
    conn.execute(end)
    is_sound(other)
    if end == "COMMIT":
        assert claim_next(other) is None
        has_each_once(conn, [*made, own])
    else:
        assert ids(claim_all(other)) == made[1:2]
        has_each_once(conn, made)
    within(conn, {"tenant acme": 2})
    run_to_the_end(conn, ["default"], {"tenant acme": 2})
    is_sound(conn)


@pytest.mark.parametrize("ends", [("COMMIT", "ROLLBACK"), ("ROLLBACK", "COMMIT"), ("ROLLBACK", "ROLLBACK")])
@pytest.mark.parametrize("savepoint", [False, True], ids=["plain", "in a savepoint"])
def test_open_claims_across_a_rebuild_keep_their_room(db, conn, other, ends, savepoint):
    configure(conn, "tenant", "acme", slots=3)
    made = enqueue_times(conn, 8, tenant="acme")
    claimers = [db.connect(), db.connect()]
    for claimer, job in zip(claimers, made, strict=False):
        claimer.execute("BEGIN")
        if savepoint:
            claimer.execute("SAVEPOINT s")
        assert claim_next(claimer).id == job
    conn.execute("SELECT turnstile.rebuild()")
    assert ids(claim_all(other)) == made[2:3]
    conn.execute("SELECT turnstile.rebuild()")
    for claimer, end in zip(claimers, ends, strict=True):
        if savepoint and end == "ROLLBACK":
            claimer.execute("ROLLBACK TO SAVEPOINT s; COMMIT")
        else:
            claimer.execute(end)
        within(conn, {"tenant acme": 3})
        is_sound(conn)
    freed = [job for job, end in zip(made, ends, strict=False) if end == "ROLLBACK"]
    assert ids(claim_all(other)) == freed
    is_sound(conn)
    run_to_the_end(conn, ["default"], {"tenant acme": 3})
    has_each_once(conn, made)
    is_sound(conn)


def test_an_open_claim_across_a_truncate_leaks_no_room(db, conn, other):
    """The truncate waits for the claim's lock on the table; what was claimed goes with the rest."""
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 2, tenant="acme")
    conn.execute("BEGIN")
    run = claim_next(conn)
    conn.execute("TRUNCATE turnstile.job")
    conn.execute("COMMIT")
    is_sound(other)
    assert claim_next(other) is None
    assert rows.state(other, run.id) is None
    fresh = enqueue_times(other, 2, tenant="acme")
    assert ids(claim_all(conn)) == fresh[:1]
    is_sound(other)
