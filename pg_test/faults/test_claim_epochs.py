"""Claims that a crash takes back (durable_claims => false): the job is available again, and no two runs have the same id and attempt."""

import pytest
from psycopg import errors

from faults.cluster import crash_by_killing, own_cluster
from support import rows
from support.calls import call, claim, claim_next, complete, enqueue, enqueue_many, enqueue_times, fail, ids, release
from support.database import fresh_database
from support.disk import no_log_writer
from support.settings import configure

# With a trigger on the jobs, claims are made by a statement.
BY_STATEMENT = """
CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER nothing AFTER UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.nothing()
"""


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_claim_epochs", max_connections=20, autovacuum="off") as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as db:
        configure(db.connect(), "queue", "quick", durable_claims=False)
        yield db


def _crash_after(db, work):
    """What was done before the crash that takes back whatever nobody has waited for, and a connection made after it."""
    conn = db.connect()
    with no_log_writer(conn) as writer:
        done = work(conn)
        crash_by_killing(writer)
    return done, db.connect()


def _claim(conn, queue: str = "quick"):
    return claim_next(conn, queue)


def _claim_due(conn, queue: str = "quick"):
    """Waits: the server's own process may be making the job available just now."""
    return claim_next(conn, queue, wait="1 minute")


def _lose_claim(db):
    """The run that a crash takes back."""
    run, conn = _crash_after(db, _claim)
    assert rows.live(conn, run.id).state == "available", "the claim was not lost"
    return run, conn


def test_a_claim_is_lost_and_names_no_other_run(db):
    job = enqueue(db.connect(), queue="quick", max_attempts=3)
    lost, conn = _lose_claim(db)
    assert (lost.id, lost.attempt, lost.attempts_left) == (job, 1, 2)
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        complete(conn, lost)
    run = _claim(conn)
    assert (run.id, run.attempt, run.attempts_left) == (job, 2, 2)
    assert run.first_started_at == rows.live(conn, job).claimed_at
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        complete(conn, lost)
    assert complete(conn, run) is True
    assert rows.finished(conn, job).attempt == 2


def _cancelled_and_retried(conn, job):
    call(conn, "cancel", job_id=job)
    call(conn, "retry", job_id=job)


def _discarded_and_retried(conn, job):
    call(conn, "discard", job_id=job)
    call(conn, "retry_many", state="discarded")


def _ended_in_another_queue(conn, job):
    """Where claims are durable, and no job is told the epoch."""
    conn.execute("UPDATE turnstile.job SET queue = 'default' WHERE id = %s", [job])
    call(conn, "cancel", job_id=job)
    call(conn, "retry", job_id=job)
    conn.execute("UPDATE turnstile.job SET queue = 'quick' WHERE id = %s", [job])


@pytest.mark.parametrize("detour", [_cancelled_and_retried, _discarded_and_retried, _ended_in_another_queue])
def test_a_job_that_ends_and_is_brought_back_skips_attempts_too(db, detour):
    job = enqueue(db.connect(), queue="quick", max_attempts=3)
    lost, conn = _lose_claim(db)
    detour(conn, job)
    run = _claim(conn)
    assert (run.id, run.attempt, run.attempts_left) == (job, 2, 2)
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        complete(conn, lost)
    assert complete(conn, run) is True


def test_each_loss_skips_one_attempt(db):
    enqueue(db.connect(), queue="quick", max_attempts=1)
    attempts = [_lose_claim(db)[0].attempt for _ in range(3)]
    conn = db.connect()
    run = _claim(conn)
    assert [*attempts, run.attempt] == [1, 2, 3, 4]
    assert run.attempts_left == 0
    assert fail(conn, run) == "discarded"


def test_a_job_that_a_statement_claims_skips_attempts_too(db):
    enqueue(db.connect(), queue="quick")
    lost, conn = _lose_claim(db)
    conn.execute(BY_STATEMENT)
    run = _claim(conn)
    assert (lost.attempt, run.attempt) == (1, 2)
    assert run.first_started_at == rows.live(conn, run.id).claimed_at
    assert release(conn, run) is True
    assert _claim(conn).attempt == 3


def test_a_durable_end_keeps_the_claim(db):
    job = enqueue(db.connect(), queue="quick")

    def run(conn):
        claimed = _claim(conn)
        complete(conn, claimed)
        return claimed

    run, conn = _crash_after(db, run)
    ended = rows.finished(conn, job)
    assert (ended.state, ended.attempt) == ("completed", 1)
    assert complete(conn, run) is False


def test_claims_are_durable_unless_a_queue_says_otherwise(db):
    job = enqueue(db.connect())
    _, conn = _crash_after(db, lambda conn: claim_next(conn))
    assert (rows.live(conn, job).state, rows.live(conn, job).claim_epoch) == ("running", None)


@pytest.mark.parametrize(
    "back", [lambda conn, run: fail(conn, run, retry_in="0"), release], ids=["failed", "released"]
)
def test_only_the_first_claim_in_an_epoch_is_lost(db, back):
    """The end may be lost as well, where nobody waits for it: then the second run would have the number of the next one."""
    enqueue(db.connect(), queue="quick")

    def run(conn):
        first = _claim(conn)
        conn.execute("SET synchronous_commit = off")
        back(conn, first)
        conn.execute("RESET synchronous_commit")
        return _claim_due(conn)

    run, conn = _crash_after(db, run)
    assert run.attempt == 2
    assert rows.live(conn, run.id).state == "running"
    assert complete(conn, run) is True


def test_a_batch_of_claims_is_lost_as_a_whole(db):
    conn = db.connect()
    enqueue_many(conn, [{"kind": "work", "queue": "quick"}] * 50)
    lost, conn = _crash_after(db, lambda conn: claim(conn, ["quick"], 30))
    assert len(lost) == 30
    again = claim(conn, ["quick"], 50)
    assert sorted(ids(again))[:30] == sorted(ids(lost))
    assert {run.attempt for run in again} == {2}


def test_after_a_shutdown_no_attempt_is_skipped(db, cluster):
    conn = db.connect()
    jobs = enqueue_times(conn, 2, queue="quick")
    run = _claim(conn)
    cluster.restart()
    conn = db.connect()
    assert complete(conn, run) is True
    assert (_claim(conn).id, rows.live(conn, jobs[1]).attempt) == (jobs[1], 1)


def test_a_job_that_was_never_claimed_begins_with_1_until_a_crash(db, cluster):
    conn = db.connect()
    before = enqueue(conn, queue="quick")
    _, conn = _crash_after(db, lambda conn: None)
    after = enqueue(conn, queue="quick")
    assert [(run.id, run.attempt) for run in claim(conn, ["quick"], 2)] == [(before, 2), (after, 1)]


def test_what_a_queue_forgets_to_say_is_still_known_of_its_jobs(db):
    """A job whose claim was lost skips an attempt in any queue, and knows no epoch once its claim is durable."""
    job = enqueue(db.connect(), queue="quick")
    _, conn = _lose_claim(db)
    conn.execute("UPDATE turnstile.job SET queue = 'default' WHERE id = %s", [job])
    run = claim_next(conn)
    assert (run.id, run.attempt, rows.live(conn, job).claim_epoch) == (job, 2, None)
    fail(conn, run, retry_in="0")
    _, conn = _crash_after(db, lambda conn: None)
    assert _claim_due(conn, "default").attempt == 3


def test_the_epoch_of_another_server_is_not_trusted(db):
    """As a subscription may bring it: the claim is durable, and the job knows the epoch of this server from then on."""
    conn = db.connect()
    job = enqueue(conn, queue="quick")
    conn.execute("UPDATE turnstile.job SET claim_epoch = 1000 WHERE id = %s", [job])
    run, conn = _crash_after(db, _claim)
    known = rows.live(conn, job)
    assert (run.attempt, known.state, known.attempt) == (1, "running", 1)
    assert known.claim_epoch < 1000


def test_the_number_of_an_epoch_is_never_used_again(db):
    """Nothing but it is on disk when the server crashes."""
    def epoch(conn):
        conn.execute("BEGIN")
        enqueue(conn, queue="quick")
        return conn.execute("SELECT claim_epoch FROM turnstile.job").fetchone()[0]

    epochs = [_crash_after(db, epoch)[0] for _ in range(3)]
    assert epochs == sorted(set(epochs))


def test_memory_agrees_after_a_loss(db):
    conn = db.connect()
    configure(conn, "queue", "quick", max_running=1)
    jobs = enqueue_times(conn, 3, queue="quick", session="one")
    lost, conn = _lose_claim(db)
    assert lost.id == jobs[0]
    for job in jobs:
        run = _claim(conn)
        assert run.id == job
        assert _claim(conn) is None
        complete(conn, run)
    assert call(conn, "check") == []
