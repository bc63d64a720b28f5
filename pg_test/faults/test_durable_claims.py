"""For which claims a commit does not wait until it is on disk: those of queues that say so, in transactions that do nothing else."""

import pytest

from faults.cluster import own_cluster
from support.calls import claim, claim_next, complete, enqueue, enqueue_many, fail, release
from support.database import fresh_database
from support.disk import no_log_writer, waits_for_disk
from support.settings import configure, unconfigure

QUICK = {"kind": "work", "queue": "quick"}


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_durable_claims", max_connections=20, autovacuum="off") as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as db:
        yield db


@pytest.fixture
def conn(db):
    conn = db.connect()
    configure(conn, "queue", "quick", durable_claims=False)
    conn.execute("CREATE TABLE public.note (text text)")
    return conn


@pytest.fixture
def waits(db, conn):
    watch = db.connect()
    # What comes once in a connection, or in a database, is not what is looked at.
    enqueue_many(conn, [QUICK] * 8)
    complete(conn, claim_next(conn, "quick"))
    conn.execute("SELECT FROM turnstile.job, public.note")
    with no_log_writer(conn):
        yield lambda work: waits_for_disk(watch, work)


def _quick(conn):
    return claim_next(conn, "quick")


def _note(conn):
    conn.execute("INSERT INTO public.note VALUES ('done')")


def _between(conn, *steps):
    def work():
        conn.execute("BEGIN")
        for step in steps:
            step(conn)
        conn.execute("COMMIT")

    return work


@pytest.mark.parametrize(
    "work",
    [
        lambda conn: claim_next(conn, "quick"),
        lambda conn: claim_next(conn, "quick", wait="1 minute"),
        lambda conn: claim_next(conn, "*"),
        lambda conn: claim(conn, ["quick"], 5, worker="w", lease="1 hour"),
        lambda conn: claim_next(conn, "quick", bind_to_connection=True),
    ],
    ids=["one", "one that may wait", "of any queue", "several", "bound to the connection"],
)
def test_a_claim_alone_does_not_wait(conn, waits, work):
    assert not waits(lambda: work(conn))


@pytest.mark.parametrize(
    "steps",
    [
        [_quick],
        [_quick, _quick],
        [lambda conn: conn.execute("SELECT 1"), _quick, lambda conn: conn.execute("SELECT 1")],
        [lambda conn: conn.execute("SAVEPOINT one"), _quick, lambda conn: conn.execute("RELEASE one"), _quick],
        [lambda conn: conn.execute("SET LOCAL synchronous_commit = remote_apply"), _quick],
    ],
    ids=["a block", "two", "that reads", "savepoints", "another synchronous_commit"],
)
def test_a_transaction_of_claims_does_not_wait(conn, waits, steps):
    assert not waits(_between(conn, *steps))


@pytest.mark.parametrize(
    "steps",
    [
        [_note, _quick],
        [_quick, _note],
        [_quick, _note, _quick],
        [lambda conn: conn.execute("SAVEPOINT one"), _note, lambda conn: conn.execute("RELEASE one"), _quick],
        [lambda conn: enqueue(conn), _quick],
        [_quick, lambda conn: enqueue(conn)],
        [lambda conn: complete(conn, _quick(conn))],
        [_quick, lambda conn: claim_next(conn)],
        [lambda conn: claim_next(conn), _quick],
        [_quick, lambda conn: conn.execute("SELECT pg_logical_emit_message(true, 'a', 'message')")],
        [_quick, lambda conn: conn.execute("CREATE TABLE public.more ()")],
        [_quick, lambda conn: conn.execute("SELECT turnstile.heartbeat(id, attempt) FROM turnstile.job WHERE state = 'running'")],
    ],
    ids=[
        "written before", "written after", "written between", "written in a savepoint", "enqueued before", "enqueued after",
        "completed", "then a durable claim", "after a durable claim", "a message", "a new table", "a heartbeat",
    ],
)  # fmt: skip
def test_what_else_a_transaction_does_is_waited_for(conn, waits, steps):
    enqueue(conn)
    assert waits(_between(conn, *steps))


def test_a_user_trigger_may_do_anything(conn, waits):
    conn.execute("""
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO public.note VALUES (new.state); RETURN NULL; END';
        CREATE TRIGGER note AFTER UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.note()
    """)
    assert waits(lambda: _quick(conn))


def test_a_claim_that_rescues_another_run_waits(conn, waits):
    lost = claim_next(conn, "quick", lease="1 millisecond")
    conn.execute("SELECT pg_sleep(0.01)")
    assert waits(lambda: _quick(conn))
    assert conn.execute("SELECT attempt FROM turnstile.job WHERE id = %s", [lost.id]).fetchone() == (1,)
    assert conn.execute("SELECT state FROM turnstile.job WHERE id = %s", [lost.id]).fetchone() == ("retryable",)


@pytest.mark.parametrize("back", [lambda conn, run: fail(conn, run, retry_in="0"), release], ids=["failed", "released"])
def test_a_second_run_waits(conn, waits, back):
    """Its first one may have been lost together with its end."""
    run = _quick(conn)
    back(conn, run)
    conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [run.id])
    again = []
    assert waits(lambda: again.append(_quick(conn)))
    assert (again[0].id, again[0].attempt) == (run.id, 2)


def test_a_job_from_before_the_setting_waits_once(conn, waits):
    job = enqueue(conn, queue="slow")
    configure(conn, "queue", "slow", durable_claims=False)
    assert waits(lambda: claim_next(conn, "slow"))
    assert conn.execute("SELECT claim_epoch FROM turnstile.job WHERE id = %s", [job]).fetchone()[0] is not None


def test_a_job_that_plain_sql_adds_does_not_wait(conn, waits):
    conn.execute("DELETE FROM turnstile.job")
    conn.execute("INSERT INTO turnstile.job (kind, queue) VALUES ('work', 'quick')")
    assert not waits(lambda: _quick(conn))
    with conn.cursor().copy("COPY turnstile.job (kind, queue) FROM STDIN") as copy:
        copy.write_row(["work", "quick"])
    assert not waits(lambda: _quick(conn))


def test_the_setting_is_inherited(conn, waits):
    configure(conn, "queue", "*", durable_claims=False)
    enqueue(conn, queue="any")
    configure(conn, "queue", "careful", durable_claims=True)
    enqueue(conn, queue="careful")
    assert not waits(lambda: claim_next(conn, "any"))
    assert waits(lambda: claim_next(conn, "careful"))
    unconfigure(conn, "queue", "quick")
    assert not waits(lambda: _quick(conn))


def test_what_comes_next_waits_again(conn, waits):
    """Also after a claim that fails at its commit."""
    conn.execute("""
        CREATE TABLE public.parent (id int PRIMARY KEY);
        CREATE TABLE public.child (parent int REFERENCES public.parent DEFERRABLE INITIALLY DEFERRED)
    """)
    assert not waits(lambda: _quick(conn))
    assert conn.execute("SHOW synchronous_commit").fetchone() == ("on",)
    assert waits(lambda: _note(conn))


def test_who_does_not_wait_anyway_goes_on_so(conn, waits):
    conn.execute("SET synchronous_commit = off")
    assert not waits(lambda: _quick(conn))
    assert conn.execute("SHOW synchronous_commit").fetchone() == ("off",)
    assert not waits(lambda: _note(conn))
