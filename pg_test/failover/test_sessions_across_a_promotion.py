"""A session on a standby lives on when that is promoted. Nothing that it has learned or left in memory before counts afterwards.

The row trigger does not fire for what a standby replays, so memory that was made there would be wrong at once.
"""

import contextlib

import psycopg
import pytest

from failover.pair import DATABASE
from faults.mixture import admits_what_may_run, fill
from faults.witness import is_sound
from support import rows
from support.calls import call, claim_next, enqueue, enqueue_times
from support.node import await_true
from support.settings import configure

VALUES = {
    "text": "'default'", "text[]": "'{default}'::text[]", "bigint": "1", "bigint[]": "'{1}'::bigint[]", "integer": "1",
    "integer[]": "'{1}'::int[]", "interval": "'1 second'::interval", "boolean": "true", "jsonb": "'[]'::jsonb",
    "numeric": "1", "timestamp with time zone": "now()", "regrole": "'postgres'::regrole", "regclass": "'turnstile.job'::regclass",
}  # fmt: skip
FUNCTIONS = """
    SELECT prokind::text, oid::regproc::text, ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) AS type)
      FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
       AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
"""
RELATIONS = """
    SELECT oid::regclass::text FROM pg_class
     WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
"""


def use_everything(standby) -> int:
    """Calls each function and reads each relation; returns how many calls were refused because it is a standby."""
    refused = 0
    for kind, name, types in standby.execute(FUNCTIONS).fetchall():
        arguments = ", ".join(VALUES.get(each, f"NULL::{each}") for each in types)
        try:
            standby.execute(f"{'CALL' if kind == 'p' else 'SELECT'} {name}({arguments})")
        except psycopg.Error as error:
            refused += error.sqlstate == "25006"
    for (relation,) in standby.execute(RELATIONS).fetchall():
        standby.execute(f"SELECT * FROM {relation}")
    return refused


def has_memory(conn) -> bool:
    return conn.execute("SELECT EXISTS (SELECT FROM turnstile.memory)").fetchone()[0]


@contextlib.contextmanager
def session_on_the_standby(pair):
    """It is the same one after the promotion: the server does not end it."""
    session = pair.standby.connect(DATABASE, options="-c statement_timeout=60s")
    pid = session.info.backend_pid
    yield session
    assert session.execute("SELECT pg_backend_pid()").fetchone() == (pid,)
    session.close()


def followed(pair) -> None:
    written = pair.primary.value("SELECT pg_current_wal_insert_lsn()::text")
    query = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
    await_true(lambda: pair.standby.value(query, written), "the standby has replayed")


@pytest.fixture
def conn(synchronous_pair):
    with synchronous_pair.primary.connect(DATABASE) as conn:
        yield conn


def test_memory_is_not_made_on_a_standby(synchronous_pair, conn, seed):
    pair = synchronous_pair
    with session_on_the_standby(pair) as session:
        slots, made = fill(conn, seed)
        followed(pair)
        assert has_memory(conn)
        assert use_everything(session) > 20
        assert not has_memory(session), "memory that no trigger keeps right"
        made.append(enqueue(conn, queue="q1"))
        configure(conn, "queue", "q2", max_running=1)
        slots["queue q2"] = 1
        conn.execute("DELETE FROM turnstile.job WHERE id = %s", [made.pop(0)])
        pair.kill_primary()
        admits_what_may_run(session, slots, made)


def seen_by_reader(conn) -> int:
    conn.execute("SET ROLE reader")
    try:
        return conn.execute("SELECT count(*) FROM turnstile.my_jobs").fetchone()[0]
    finally:
        conn.execute("RESET ROLE")


def test_what_a_session_has_read_on_a_standby_does_not_count_later(synchronous_pair, conn):
    """Routes, settings and permissions, which backends keep until a commit of this server changes them."""
    pair = synchronous_pair
    conn.execute("CREATE ROLE reader")
    call(conn, "allow_tenant", role="reader", tenants=["t"])
    enqueue(conn, tenant="t")
    followed(pair)
    with session_on_the_standby(pair) as session:
        assert seen_by_reader(session) == 1
        conn.execute("UPDATE turnstile.permission SET tenant = 'u'")
        followed(pair)
        assert seen_by_reader(session) == 0
        enqueue(conn, tenant="u")
        conn.execute("INSERT INTO turnstile.route (pattern, queue) VALUES ('mail', 'letters')")
        conn.execute("UPDATE turnstile.queue SET max_attempts = 3 WHERE name = '*'")
        followed(pair)
        assert seen_by_reader(session) == 1
        conn.execute("UPDATE turnstile.permission SET tenant = 't'")
        enqueue_times(conn, 2, tenant="t")
        pair.kill_primary()
        assert seen_by_reader(session) == 3
        made = call(session, "enqueue", kind="mail")[0][0]
        assert rows.live(session, made).queue == "letters"
        assert rows.live(session, made).max_attempts == 3
        session.execute("UPDATE turnstile.permission SET tenant = 'u'")
        assert seen_by_reader(session) == 1


def test_a_transaction_that_began_on_a_standby_stays_read_only(synchronous_pair):
    pair = synchronous_pair
    with session_on_the_standby(pair) as session:
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT * FROM turnstile.queues")
        pair.kill_primary()
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            claim_next(session)
        session.execute("ROLLBACK")
        job = enqueue(session)
        assert claim_next(session).id == job


def error_of(conn, job: int) -> str | None:
    """Why its first run failed, whatever has become of it since."""
    errors = rows.live(conn, job).errors
    return errors and errors[0]["error"]


def test_runs_of_the_old_primary_end_as_promised(synchronous_pair, conn):
    """One that was bound to a connection there, one whose lease ends, one that goes on, and a job that falls due."""
    pair = synchronous_pair
    bound, leased, kept = [enqueue(conn, queue=name) for name in ("bound", "leased", "kept")]
    due = enqueue(conn, queue="due", run_at="infinity")
    call(conn, "claim_next", queue="bound", bind_to_connection=True)
    call(conn, "claim_next", queue="leased", lease="1 second")
    run = claim_next(conn, "kept")
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + interval '1 second' WHERE id = %s", [due])
    pair.kill_primary()
    with pair.primary.connect(DATABASE) as there:
        # The memory begins with the first claim. From then on nobody claims, and the background worker sees to the rest.
        assert claim_next(there, "nothing") is None
        await_true(lambda: rows.state(there, due) == "available", "what is due is made available")
        await_true(lambda: error_of(there, leased) == "lease expired", "the lease has ended")
        await_true(lambda: error_of(there, bound) == "connection lost", "the connection is gone")
        assert call(there, "complete", job_id=kept, attempt=run.attempt) == [(True,)]
        is_sound(there)


def test_sleepers_and_listeners_of_the_promoted_server_are_woken(synchronous_pair):
    pair = synchronous_pair
    with session_on_the_standby(pair) as session, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        call(session, "listen_channel", queue="default")
    pair.switch_over()
    with pair.primary.connect(DATABASE) as listener, pair.primary.connect(DATABASE) as producer:
        channel = call(listener, "listen_channel", queue="default")[0][0]
        listener.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
        assert claim_next(listener) is None
        job = enqueue(producer)
        assert [note.channel for note in listener.notifies(timeout=60, stop_after=1)] == [channel]
        assert claim_next(listener).id == job
        later = enqueue(producer, run_at="infinity")
        producer.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + interval '1 second' WHERE id = %s", [later])
        assert claim_next(listener, wait="1 minute").id == later
