"""max_waiting: a bound on how many jobs of a queue or tenant wait. Who adds one more is refused, and nobody else."""

import contextlib
import os
import signal
import threading

import psycopg
import pytest

from support.backlogs import FULL, JOB, KEYS, WAITS, bound, free, waiting
from support.calls import (
    call, cancel, claim, claim_next, complete, discard, enqueue, enqueue_many, enqueue_times, fail, release, retry, snooze,
)  # fmt: skip
from support.errors import BAD_VALUE, refused
from support.settings import configure, unconfigure

each_table = pytest.mark.parametrize("table", KEYS)


def _insert(conn, count=1, state="available"):
    conn.execute(
        "INSERT INTO turnstile.job (kind, queue, tenant, state) SELECT 'work', 'mail', 'acme', %s"
        " FROM generate_series(1, %s)",
        [state, count],
    )


def _copy(conn, count=1):
    with conn.cursor().copy("COPY turnstile.job (kind, queue, tenant) FROM STDIN") as copy:
        for _ in range(count):
            copy.write_row(("work", "mail", "acme"))


def _merge(conn, count=1):
    conn.execute(
        "MERGE INTO turnstile.job USING generate_series(1, %s) AS given ON false"
        " WHEN NOT MATCHED THEN INSERT (kind, queue, tenant) VALUES ('work', 'mail', 'acme')",
        [count],
    )


def _each(produce):
    return lambda conn, count=1: [produce(conn, number) for number in range(count)]


PRODUCERS = {
    "enqueue": _each(lambda conn, _: enqueue(conn, **JOB)),
    "enqueue with a unique key": _each(lambda conn, _: call(conn, "enqueue", kind="work", unique_key="once", **JOB)),
    "enqueue for later": _each(lambda conn, _: enqueue(conn, run_at="2999-01-01", **JOB)),
    "enqueue_many": lambda conn, count=1: enqueue_many(conn, [{"kind": "work"} | JOB] * count),
    "INSERT": _insert,
    "INSERT of jobs for later": lambda conn, count=1: _insert(conn, count, "scheduled"),
    "INSERT of failed jobs": lambda conn, count=1: _insert(conn, count, "retryable"),
    "COPY": _copy,
    "MERGE": _merge,
}
# Several of them are one job.
ONE_KEY = "enqueue with a unique key"
each_producer = pytest.mark.parametrize("producer", PRODUCERS)


@contextlib.contextmanager
def _rolled_back(conn):
    with conn.transaction(force_rollback=True):
        yield


@pytest.mark.parametrize("tables", [["queue"], ["tenant"], ["queue", "tenant"]], ids=" and ".join)
@each_producer
def test_no_producer_adds_more_than_the_bound(conn, producer, tables):
    for table in tables:
        bound(conn, 3, table)
    enqueue_times(conn, 2, **JOB)
    PRODUCERS[producer](conn)
    before = conn.execute("SELECT id FROM turnstile.job ORDER BY id").fetchall()
    if producer != ONE_KEY:
        with refused(FULL):
            PRODUCERS[producer](conn)
    with refused(FULL):
        enqueue(conn, **JOB)
    assert conn.execute("SELECT id FROM turnstile.job ORDER BY id").fetchall() == before
    other = {"queue": "default"} if tables == ["queue"] else {"queue": "mail"} if tables == ["tenant"] else {}
    enqueue(conn, **({"queue": "default", "tenant": "globex"} | other))


@each_producer
def test_many_are_added_all_or_none(conn, producer):
    bound(conn, 3)
    enqueue(conn, **JOB)
    if producer == ONE_KEY:
        PRODUCERS[producer](conn, 3)
        assert waiting(conn) == 2
        return
    with refused(FULL), conn.transaction():
        PRODUCERS[producer](conn, 3)
    assert waiting(conn) == 1
    with conn.transaction():
        PRODUCERS[producer](conn, 2)
    assert waiting(conn) == 3


@each_producer
def test_usual_path_agrees(conn, producer):
    """A trigger of a user's has every job written by a statement."""
    conn.execute(
        "CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        "CREATE TRIGGER look BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job"
        " FOR EACH ROW EXECUTE FUNCTION public.look()"
    )
    bound(conn, 2)
    PRODUCERS[producer](conn)
    enqueue(conn, **JOB)
    with refused(FULL):
        enqueue(conn, **JOB)
    run = claim_next(conn, "mail")
    if run is not None:
        enqueue(conn, **JOB)
    with refused(FULL):
        enqueue(conn, **JOB)


@each_table
def test_the_error_and_the_notice_tell_whose_backlog_it_is(conn, table):
    notices = []
    conn.execute("SET client_min_messages = notice")
    conn.add_notice_handler(lambda diag: notices.append(diag.message_primary))
    bound(conn, 10, table)
    enqueue_times(conn, 7, **JOB)
    assert notices == []
    enqueue(conn, **JOB)
    assert len(notices) == 1
    assert KEYS[table] in notices[0] and " 8 " in notices[0] and "10" in notices[0]
    with conn.transaction():
        enqueue_times(conn, 2, **JOB)
    assert len(notices) == 2, "once in a transaction"
    with refused(FULL) as caught:
        enqueue(conn, **JOB)
    assert f'{table} "{KEYS[table]}"' in caught.value.diag.message_primary
    detail = caught.value.diag.message_detail
    assert "10 waiting jobs" in detail and "max_waiting is 10" in detail
    assert f"set_{table}" in caught.value.diag.message_hint


@each_table
@pytest.mark.parametrize("bad", [0, -2])
def test_a_bound_is_at_least_one(conn, table, bad):
    with refused(BAD_VALUE):
        call(conn, f"set_{table}", name="x", max_waiting=bad)
    with pytest.raises(psycopg.errors.CheckViolation, match=f"{table}_max_waiting_check"):
        bound(conn, bad, table)


@each_table
def test_minus_one_is_no_bound_and_null_inherits(conn, table):
    call(conn, f"set_{table}", name="*", max_waiting=3)
    call(conn, f"set_{table}", name=KEYS[table], max_waiting=1)
    enqueue(conn, **JOB)
    with refused(FULL):
        enqueue(conn, **JOB)
    assert call(conn, f"set_{table}", name=KEYS[table])[0].max_waiting == 1, "what is not named stays"
    assert call(conn, f"set_{table}", name=KEYS[table], clear=["max_waiting"])[0].max_waiting is None
    enqueue_times(conn, 2, **JOB)
    with refused(FULL):
        enqueue(conn, **JOB)
    call(conn, f"set_{table}", name=KEYS[table], max_waiting=-1)
    enqueue_times(conn, 5, **JOB)


@each_table
def test_the_default_row_bounds_every_name_without_a_row(conn, other, table):
    configure(conn, table, "*", max_waiting=2)
    for name in ("one", "two"):
        enqueue_times(conn, 2, **JOB | {table: name})
        for connection in (conn, other):
            with refused(FULL):
                enqueue(connection, **JOB | {table: name})
    configure(conn, table, "three", max_waiting=-1)
    enqueue_times(conn, 5, **JOB | {table: "three"})
    unconfigure(conn, table, "three")
    with refused(FULL):
        enqueue(other, **JOB | {table: "three"})
    view = dict(conn.execute(f"SELECT name, max_waiting FROM turnstile.{table}s").fetchall())
    assert view["one"] == 2 and view["three"] == 2
    conn.execute(f"TRUNCATE turnstile.{table}")
    enqueue(other, **JOB | {table: "one"})


def test_jobs_without_a_tenant_have_no_tenants_bound(conn):
    configure(conn, "tenant", "*", max_waiting=1)
    enqueue_times(conn, 3, queue="mail")


@each_table
def test_a_setting_holds_once_it_is_committed_for_every_connection(conn, other, table):
    enqueue_times(conn, 2, **JOB)
    enqueue_times(other, 2, **JOB)
    with conn.transaction():
        bound(conn, 5, table)
        enqueue(other, **JOB)
        enqueue(conn, **JOB)
    assert waiting(conn) == 6
    for connection in (conn, other):
        with refused(FULL):
            enqueue(connection, **JOB)
    bound(conn, 7, table)
    enqueue(other, **JOB)
    bound(other, 2, table)
    with refused(FULL) as caught:
        enqueue(conn, **JOB)
    assert "7 waiting" in caught.value.diag.message_detail, "it is far below what there is"
    with _rolled_back(other):
        bound(other, 100, table)
    with refused(FULL):
        enqueue(other, **JOB)


def test_a_renamed_row_bounds_its_new_name(conn):
    bound(conn, 1)
    enqueue(conn, **JOB)
    conn.execute("UPDATE turnstile.queue SET name = 'other' WHERE name = 'mail'")
    enqueue_times(conn, 2, **JOB)
    enqueue(conn, queue="other")
    with refused(FULL):
        enqueue(conn, queue="other")


FREEING = {
    "claim_next": lambda conn, job: claim_next(conn, "mail"),
    "claim": lambda conn, job: claim(conn, ["mail"]),
    "cancel": cancel,
    "discard": lambda conn, job: call(conn, "discard", job_id=job, attempt=None),
    "cancel_many": lambda conn, job: call(conn, "cancel_many", queue="mail", max_jobs=1),
    "DELETE": lambda conn, job: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [job]),
    "UPDATE of the state": lambda conn, job: conn.execute(
        "UPDATE turnstile.job SET state = 'running', attempt = 1, claimed_at = now() WHERE id = %s", [job]
    ),
    "UPDATE of the queue": lambda conn, job: conn.execute(
        "UPDATE turnstile.job SET queue = 'other' WHERE id = %s", [job]
    ),
}


@pytest.mark.parametrize("how", FREEING)
def test_a_place_is_free_once_the_commit_frees_it(conn, other, how):
    bound(conn, 2)
    job, _ = enqueue_times(conn, 2, **JOB)
    with conn.transaction():
        FREEING[how](conn, job)
        for connection in (conn, other):
            with refused(FULL), connection.transaction():
                enqueue(connection, **JOB)
    enqueue(other, **JOB)
    with refused(FULL):
        enqueue(other, **JOB)


@pytest.mark.parametrize("how", FREEING)
def test_what_is_rolled_back_frees_nothing(conn, other, how):
    bound(conn, 2)
    job, _ = enqueue_times(conn, 2, **JOB)
    with _rolled_back(conn):
        FREEING[how](conn, job)
    with refused(FULL):
        enqueue(other, **JOB)


RETURNING = {
    "fail": lambda conn, run: fail(conn, run, retry_in="1 hour"),
    "release": release,
    "snooze": lambda conn, run: snooze(conn, run, "1 hour"),
    "UPDATE": lambda conn, run: conn.execute(
        "UPDATE turnstile.job SET state = 'available', lease_expires_at = NULL WHERE id = %s", [run.id]
    ),
    "rescue": lambda conn, run: (
        conn.execute(
            "UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute' WHERE id = %s", [run.id]
        ),
        call(conn, "rescue"),
    ),
}


@pytest.mark.parametrize("how", RETURNING)
def test_jobs_that_come_back_may_pass_the_bound_and_count(conn, how):
    bound(conn, 2)
    enqueue_times(conn, 2, **JOB)
    run = claim_next(conn, "mail")
    enqueue(conn, **JOB)
    RETURNING[how](conn, run)
    assert waiting(conn) == 3
    cancel(conn, conn.execute(f"SELECT min(id) FROM turnstile.job WHERE {WAITS}").fetchone()[0])
    with refused(FULL):
        enqueue(conn, **JOB)


@pytest.mark.parametrize("end", [complete, discard], ids=["complete", "discard"])
def test_the_end_of_a_run_frees_no_place_again(conn, end):
    bound(conn, 1)
    enqueue(conn, **JOB)
    run = claim_next(conn, "mail")
    enqueue(conn, **JOB)
    end(conn, run)
    with refused(FULL):
        enqueue(conn, **JOB)


def test_a_finished_job_that_is_brought_back_is_a_new_one(conn):
    bound(conn, 1)
    job = enqueue(conn, **JOB)
    cancel(conn, job)
    enqueue(conn, **JOB)
    with refused(FULL):
        retry(conn, job)
    claim_next(conn, "mail")
    assert retry(conn, job) == "available"


def test_a_job_counts_where_its_route_puts_it_and_where_it_is_moved(conn):
    bound(conn, 1)
    call(conn, "set_route", pattern="letter", queue="mail")
    enqueue(conn, "letter")
    with refused(FULL):
        enqueue(conn, "letter")
    enqueue_times(conn, 2, kind="parcel", queue="other")
    call(conn, "set_route", pattern="parcel", queue="mail", override=True)
    assert call(conn, "reroute", pattern="parcel")[0][0] == 2, "who moves jobs is not refused"
    assert waiting(conn) == 3
    with refused(FULL) as caught:
        enqueue(conn, queue="mail")
    assert "3 waiting" in caught.value.diag.message_detail


def test_a_job_that_holds_the_unique_key_needs_no_place(conn):
    bound(conn, 1)
    first = enqueue(conn, unique_key="k", **JOB)
    assert enqueue(conn, unique_key="k", **JOB) == first
    assert enqueue(conn, unique_key="k", unique_mode="replace", **JOB) == first
    with refused(FULL):
        enqueue(conn, unique_key="other", **JOB)
    claim_next(conn, "mail")
    enqueue(conn, unique_key="other", **JOB)


def test_one_of_two_gets_the_last_place(conn, other):
    bound(conn, 3)
    enqueue_times(conn, 2, **JOB)
    with conn.transaction():
        enqueue(conn, **JOB)
        with refused(FULL):
            enqueue(other, **JOB)
    with refused(FULL):
        enqueue(other, **JOB)


def _produce_at_once(db) -> int:
    """How many of 80 enqueues by 4 connections were admitted."""
    connections = [db.connect() for _ in range(4)]
    taken = []

    def produce(connection):
        for _ in range(20):
            with contextlib.suppress(psycopg.errors.ConfigurationLimitExceeded):
                taken.append(enqueue(connection, **JOB))

    threads = [threading.Thread(target=produce, args=[each]) for each in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(taken)


def test_many_at_once_take_as_many_places_as_there_are(db, conn):
    bound(conn, 20)
    assert _produce_at_once(db) == 20 == waiting(conn)


def test_many_at_once_wait_for_the_count(db, conn):
    _insert(conn, 50_000)
    bound(conn, 50_020)
    assert _produce_at_once(db) == 20
    assert waiting(conn) == 50_020


def test_a_count_that_stands_still_stops_no_producer(db, conn, other):
    _insert(conn, 200_000)
    bound(conn, 1_000_000)
    backend = conn.info.backend_pid
    adding = db.connect()
    counting = threading.Thread(target=enqueue, args=[conn], kwargs=JOB)
    counting.start()
    tries = 1
    try:
        while not _adds_beside_a_stopped(adding, backend):
            tries += 1
        assert counting.is_alive()
    finally:
        os.kill(backend, signal.SIGCONT)
        counting.join()
    assert waiting(other) == 200_001 + tries


def _adds_beside_a_stopped(adding, backend) -> bool:
    """Whoever stands still with a light-weight lock, or in the wait queue of one, holds up all others: then it goes on for a while."""
    waits_for = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
    seen: list = []

    def add():
        enqueue(adding, **JOB)
        seen.append(adding.execute(waits_for, [backend]).fetchone())

    os.kill(backend, signal.SIGSTOP)
    producer = threading.Thread(target=add)
    producer.start()
    producer.join(5)
    if seen in ([], [("LWLock",)]):
        os.kill(backend, signal.SIGCONT)
        producer.join()
        return False
    return True
