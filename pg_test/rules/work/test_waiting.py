"""Sleeping in the server: what wakes a sleeper, how many, and what it holds meanwhile."""

import contextlib
import os
import socket
import time

import psycopg
import pytest

from support import rows
from support.calls import call, claim_next, complete, enqueue, enqueue_many, enqueue_times, fail
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused
from support.losses import terminate
from support.settings import configure
from support.sleepers import (
    Sleeper, asleep, await_asleep, count_returned, put_to_sleep, until, woken_by_the_end,
)  # fmt: skip

WAIT = "CALL turnstile.wait_for_job(%(queues)s, %(timeout)s)"
DEFAULT = {"queues": ["default"], "timeout": "60 s"}
CLAIM = "SELECT * FROM turnstile.claim_next(wait => '60 s')"


def wait(conn, **arguments):
    conn.execute(WAIT, DEFAULT | arguments)


@pytest.mark.parametrize("argument", DEFAULT)
def test_null_is_refused(module_conn, argument):
    with refused(NULL_VALUE):
        wait(module_conn, **{argument: None})


def test_bad_arguments_are_refused(module_conn):
    for bad, code in [
        ({"queues": ["a", None]}, NULL_VALUE),
        ({"queues": [""]}, BAD_VALUE),
        ({"queues": ["q" * 256]}, TOO_LONG),
        ({"queues": [f"q{n}" for n in range(33)]}, TOO_LONG),
        ({"timeout": "-1 s"}, BAD_VALUE),
    ]:
        with refused(code):
            wait(module_conn, **bad)


def test_no_time_and_no_queue_return_at_once(module_conn):
    wait(module_conn, timeout="0")
    wait(module_conn, timeout="1 microsecond")
    wait(module_conn, queues=[], timeout="10 milliseconds")


def test_in_a_transaction_block_it_is_refused(module_db):
    with module_db.connect(autocommit=False) as conn, refused("25001"):
        wait(conn)


@pytest.mark.parametrize(
    "code",
    [
        "DO $$ BEGIN BEGIN CALL turnstile.wait_for_job(ARRAY['default'], '0'); EXCEPTION WHEN division_by_zero THEN END; END $$",
        "SELECT pg_temp.f()",
    ],
)
def test_in_a_function_or_a_savepoint_it_is_refused(module_conn, code):
    module_conn.execute(
        "CREATE OR REPLACE FUNCTION pg_temp.f() RETURNS void LANGUAGE plpgsql AS"
        " $$ BEGIN CALL turnstile.wait_for_job(ARRAY['default'], '0'); END $$"
    )
    with pytest.raises((psycopg.errors.ActiveSqlTransaction, psycopg.errors.InvalidTransactionTermination)):
        module_conn.execute(code)


def test_in_a_block_that_may_commit_it_is_taken(conn):
    conn.execute("DO $$ BEGIN CALL turnstile.wait_for_job(ARRAY['default'], '1 ms'); END $$")


def test_a_job_that_is_there_returns_at_once(conn):
    enqueue(conn, queue="mail")
    wait(conn, queues=["other", "mail"])
    wait(conn, queues=["*"])
    assert claim_next(conn, "mail") is not None


def test_while_it_sleeps_it_holds_neither_snapshot_nor_transaction_id(db, conn):
    with woken_by_the_end(conn, put_to_sleep(db, conn, 1)) as [sleeper]:
        held = conn.execute(
            "SELECT backend_xmin, backend_xid FROM pg_stat_activity WHERE pid = %s", [sleeper.pid]
        ).fetchone()
        locks = conn.execute(
            "SELECT locktype FROM pg_locks WHERE pid = %s AND locktype <> 'virtualxid'", [sleeper.pid]
        ).fetchall()
        assert (held, locks) == ((None, None), [])


def test_a_sleeper_needs_no_right_but_to_work_on_the_queue(db, conn, role):
    conn.execute(f"GRANT USAGE ON SCHEMA turnstile TO {role}")
    worker = db.connect()
    worker.execute(f"SET ROLE {role}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        wait(worker, timeout="0")
    conn.execute("SELECT turnstile.allow_worker(%s::text::regrole, '{default}')", [role])
    # Right after the start memory is to be rebuilt, and a job falls due while it sleeps.
    enqueue(conn, run_at=conn.execute("SELECT clock_timestamp() + interval '0.3 s'").fetchone()[0])
    sleeper = Sleeper(worker, WAIT, **DEFAULT).returned()
    assert sleeper.error is None
    assert worker.execute("SELECT current_user, current_setting('search_path')").fetchone() == (role, '"$user", public')
    assert claim_next(conn) is not None


# ---- What wakes a sleeper -------------------------------------------------------------------------


SETTINGS = {
    "resumed queue": ("queue", {"paused": True}, {"paused": False}),
    "raised limit": ("queue", {"max_running": 0}, {"max_running": 1}),
}


@pytest.mark.parametrize("how", [CLAIM, None], ids=["claim", "wait_for_job"])
@pytest.mark.parametrize(
    "change",
    [
        lambda conn: enqueue(conn),
        lambda conn: conn.execute("INSERT INTO turnstile.job (kind) VALUES ('work')"),
        lambda conn: conn.execute("COPY turnstile.job (kind) FROM PROGRAM 'echo work'"),
        lambda conn: enqueue(conn, run_at=conn.execute("SELECT clock_timestamp() + interval '0.2 s'").fetchone()[0]),
    ],
    ids=["enqueue", "INSERT", "COPY", "due time"],
)
def test_a_new_job_wakes_a_sleeper(db, conn, change, how):
    [sleeper] = put_to_sleep(db, conn, 1, how)
    change(conn)
    assert sleeper.returned().error is None
    assert sleeper.rows or claim_next(conn) is not None


@pytest.mark.parametrize("how", [CLAIM, None], ids=["claim", "wait_for_job"])
@pytest.mark.parametrize(("table", "before", "after"), SETTINGS.values(), ids=SETTINGS.keys())
def test_a_changed_setting_wakes_a_sleeper(db, conn, table, before, after, how):
    configure(conn, table, "default", **before)
    enqueue(conn)
    assert claim_next(conn) is None
    [sleeper] = put_to_sleep(db, conn, 1, how)
    configure(conn, table, "default", **after)
    assert sleeper.returned().error is None
    assert sleeper.rows or claim_next(conn) is not None


@pytest.mark.parametrize("how", [CLAIM, None], ids=["claim", "wait_for_job"])
@pytest.mark.parametrize(
    "end",
    [
        complete,
        lambda conn, run: fail(conn, run),
        lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE state = 'running'"),
        lambda conn, run: conn.execute("UPDATE turnstile.job SET state = 'available' WHERE state = 'running'"),
    ],
    ids=["complete", "fail", "DELETE", "UPDATE"],
)
def test_a_freed_slot_wakes_a_sleeper_of_any_queue_behind_the_gate(db, conn, end, how):
    """The slot is that of a tenant; the one who waits for it does so in another queue."""
    configure(conn, "tenant", "acme", slots=1)
    enqueue(conn, queue="mail", tenant="acme")
    run = claim_next(conn, "mail")
    enqueue(conn, tenant="acme")
    assert claim_next(conn) is None
    [sleeper] = put_to_sleep(db, conn, 1, how)
    end(conn, run)
    assert sleeper.returned().error is None
    assert sleeper.rows or claim_next(conn) is not None


@pytest.mark.parametrize("way", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s"])
def test_an_undone_claim_wakes_a_sleeper(db, conn, other, way):
    enqueue(conn)
    other.execute("BEGIN; SAVEPOINT s")
    assert claim_next(other) is not None
    assert claim_next(conn) is None
    [sleeper] = put_to_sleep(db, conn, 1)
    other.execute(way)
    assert sleeper.returned().error is None
    assert claim_next(conn) is not None


def test_a_truncated_table_keeps_sleepers_asleep_and_later_jobs_wake_them(db, conn):
    """Memory is rebuilt under them."""
    sleepers = put_to_sleep(db, conn, 3)
    conn.execute("TRUNCATE turnstile.job")
    await_asleep(conn, 3)
    enqueue_times(conn, 3)
    for sleeper in sleepers:
        assert sleeper.returned().error is None


def test_a_sleeper_of_all_queues_is_woken_by_any(db, conn):
    for queue in ("mail", "default", "another"):
        [sleeper] = put_to_sleep(db, conn, 1, WAIT, queues=["*"], timeout="60 s")
        enqueue(conn, queue=queue)
        assert sleeper.returned().error is None
        assert claim_next(conn, queue) is not None
        assert claim_next(conn, queue) is None


def test_a_job_of_another_queue_wakes_no_sleeper(db, conn):
    with woken_by_the_end(conn, put_to_sleep(db, conn, 3, CLAIM)) as sleepers:
        enqueue_times(conn, 5, queue="mail")
        configure(conn, "tenant", "acme", slots=0)
        enqueue(conn, tenant="acme")
        enqueue(conn, run_at="2100-01-01")
        await_asleep(conn, 3)
        assert count_returned(sleepers) == 0


def test_a_job_locked_by_another_session_is_claimed_once_it_is_let_go(db, conn, other):
    """Nothing tells of that; the sleeper looks again by himself, and does not run in circles meanwhile."""
    enqueue(conn)
    other.execute("BEGIN; SELECT FROM turnstile.job FOR UPDATE")
    sleeper = Sleeper(db.connect(), CLAIM)
    await_asleep(conn, 1)
    other.execute("ROLLBACK")
    assert len(sleeper.returned().rows) == 1


# ---- As many as there is work ---------------------------------------------------------------------


def test_ten_jobs_wake_about_ten_of_forty(db, conn):
    with woken_by_the_end(conn, put_to_sleep(db, conn, 40, CLAIM)) as sleepers:
        enqueue_many(conn, [{"kind": "work"}] * 10)
        until(lambda: count_returned(sleepers) == 10, "ten have claimed")
        assert len(rows.counts(conn)) == 1
    with woken_by_the_end(conn, put_to_sleep(db, conn, 40)) as sleepers:
        began = time.monotonic()
        enqueue_many(conn, [{"kind": "work"}] * 10)
        until(lambda: count_returned(sleepers) >= 10, "ten were woken")
        for _ in range(10):
            assert claim_next(conn) is not None
        # Nobody is woken for what is gone. While the ten do not claim, one more is called each tenth of a second, and
        # who is woken by the clock to see to something else finds the jobs, too.
        more = 1 + (time.monotonic() - began) / 0.1
        assert count_returned(sleepers) <= 10 + 2 * more


def test_no_more_are_woken_than_there_is_room(db, conn):
    configure(conn, "tenant", "acme", slots=2)
    with woken_by_the_end(conn, put_to_sleep(db, conn, 20, CLAIM)) as sleepers:
        enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * 10)
        until(lambda: count_returned(sleepers) == 2, "two have claimed")
        assert rows.counts(conn) == {"running": 2, "available": 8}
        for sleeper in [sleeper for sleeper in sleepers if not sleeper.is_alive()]:
            complete(conn, _Run(*sleeper.rows[0][:2]))
        until(lambda: count_returned(sleepers) == 4, "two more have claimed")


class _Run:
    def __init__(self, job_id, attempt):
        self.id, self.attempt = job_id, attempt


def test_one_who_was_woken_and_does_not_claim_is_followed_by_another(db, conn):
    """Whoever is called and goes without a word: the next is called after a moment, until somebody claims."""
    with woken_by_the_end(conn, put_to_sleep(db, conn, 5)) as sleepers:
        enqueue(conn)
        until(lambda: count_returned(sleepers) >= 3, "three were woken, one after the other")
        assert claim_next(conn) is not None


def test_who_comes_while_another_was_woken_takes_the_work(db, conn):
    """The other may never do so: his client is slow, or waits for the connection that the new one has."""
    [woken] = put_to_sleep(db, conn, 1)
    enqueue(conn)
    woken.returned()
    wait(conn)
    assert claim_next(conn) is not None


def test_a_wake_up_used_through_another_connection_holds_no_sleeper_up(db, conn):
    """As behind a pooler: the process that was woken never claims, and nothing tells it that somebody has."""
    [woken] = put_to_sleep(db, conn, 1)
    enqueue(conn)
    woken.returned()
    assert claim_next(conn) is not None
    configure(conn, "queue", "default", paused=True)
    enqueue(conn)
    [sleeper] = put_to_sleep(db, conn, 1)
    configure(conn, "queue", "default", paused=False)
    assert sleeper.returned().error is None


@pytest.mark.parametrize("end", ["terminate", "cancel", "disconnect"])
def test_whoever_dies_asleep_takes_no_wake_up_along(db, conn, end):
    sleepers = put_to_sleep(db, conn, 4, CLAIM)
    for sleeper in sleepers[:3]:
        if end == "terminate":
            terminate(conn, sleeper.pid)
        elif end == "cancel":
            conn.execute("SELECT pg_cancel_backend(%s)", [sleeper.pid])
        else:
            _hang_up(sleeper.conn)
    await_asleep(conn, 1)
    enqueue(conn)
    assert len(sleepers[3].returned().rows) == 1
    for sleeper in sleepers[:3]:
        assert not sleeper.rows


def _hang_up(conn):
    """The client's end of the connection goes away while the server is busy."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(conn.pgconn.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)


def _count_claimed(sleepers) -> int:
    return sum(len(sleeper.rows) for sleeper in sleepers)


def test_due_jobs_wake_sleepers_of_their_queue_while_others_sleep_on(db, conn):
    other_queue = put_to_sleep(db, conn, 3, WAIT, queues=["mail"], timeout="60 s")
    sleepers = [Sleeper(db.connect(), CLAIM) for _ in range(3)]
    await_asleep(conn, 6)
    with woken_by_the_end(conn, [*other_queue, *sleepers]):
        soon = conn.execute("SELECT clock_timestamp() + interval '0.2 s'").fetchone()[0]
        enqueue_many(conn, [{"kind": "work", "run_at": soon.isoformat()}] * 2)
        until(lambda: _count_claimed(sleepers) == 2, "two have claimed what fell due")
        assert count_returned(other_queue) == 0


# ---- Waiting inside a claim -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        "SELECT id FROM turnstile.claim_next(wait => '60 s')",
        "SELECT id FROM turnstile.claim(ARRAY['other', 'default'], 5, wait => '60 s')",
        "SELECT id FROM turnstile.claim(ARRAY['*'], 5, wait => '60 s')",
    ],
)
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_claim_that_waits_takes_what_is_committed_meanwhile(db, conn, claim, isolation):
    sleeping = db.connect()
    sleeping.execute(f"SET default_transaction_isolation = '{isolation.lower()}'")
    sleeper = Sleeper(sleeping, claim)
    await_asleep(conn, 1)
    job = enqueue(conn)
    assert sleeper.returned().rows == [(job,)]


def test_a_claim_that_waits_works_inside_a_transaction_block(db, conn):
    sleeping = db.connect()
    sleeping.execute("BEGIN")
    sleeper = Sleeper(sleeping, CLAIM)
    await_asleep(conn, 1)
    enqueue(conn)
    assert len(sleeper.returned().rows) == 1
    sleeping.execute("ROLLBACK")
    assert claim_next(conn) is not None


def test_a_claim_gives_up_at_the_end_of_its_time(conn):
    assert call(conn, "claim_next", wait="0") == []
    assert call(conn, "claim_next", wait="20 milliseconds") == []
    assert call(conn, "claim", queues=[], wait="20 milliseconds") == []
    assert call(conn, "claim", queues=["default"], max_jobs=0, wait="60 s") == []


def test_a_claim_that_waits_writes_nothing_while_there_is_nothing(conn):
    before = conn.execute("SELECT pg_current_xact_id_if_assigned(), pg_snapshot_xmax(pg_current_snapshot())").fetchone()
    assert call(conn, "claim_next", wait="20 milliseconds") == []
    after = conn.execute("SELECT pg_current_xact_id_if_assigned(), pg_snapshot_xmax(pg_current_snapshot())").fetchone()
    assert before == after


def _falls_due_where_there_is_no_room(conn, another):
    configure(conn, "tenant", "acme", slots=1)
    enqueue(conn, tenant="acme")
    assert claim_next(conn) is not None
    enqueue(conn, tenant="acme", run_at=_soon(conn))


def _lease_ends(conn, another):
    enqueue(conn)
    assert claim_next(conn, lease="0.1 s") is not None


def _connection_is_lost(conn, another):
    enqueue(conn)
    assert claim_next(another, bind_to_connection=True) is not None
    another.close()


def _soon(conn):
    return conn.execute("SELECT clock_timestamp() + interval '0.1 s'").fetchone()[0].isoformat()


@pytest.mark.parametrize("change", [_falls_due_where_there_is_no_room, _lease_ends, _connection_is_lost])
def test_a_claim_that_waits_never_sleeps_on_what_it_has_changed(db, conn, change):
    """The job comes back, and has no room or is to be retried later. Others wait for that to be committed."""
    change(conn, db.connect())
    sleeper = Sleeper(db.connect(), CLAIM)
    with woken_by_the_end(conn, [sleeper]):
        sleeper.returned_without_sleeping_on_changes(conn)
    assert (sleeper.error, sleeper.rows) == (None, [])


def test_a_claim_that_returns_early_has_listeners_told_of_what_comes(conn, other):
    channel = conn.execute("SELECT turnstile.listen_channel('default')").fetchone()[0]
    conn.execute(f'LISTEN "{channel}"')
    _lease_ends(conn, other)
    time.sleep(0.2)
    assert call(conn, "claim_next", wait="30 s") == []
    enqueue(other)
    assert [notice.channel for notice in conn.notifies(timeout=30, stop_after=1)] == [channel]


def test_within_a_transaction_only_the_call_that_has_changed_something_returns_early(db, conn):
    _lease_ends(conn, None)
    time.sleep(0.2)
    conn.execute("BEGIN")
    assert call(conn, "claim_next", wait="60 s") == []
    sleeper = Sleeper(conn, CLAIM)
    watcher = db.connect()
    await_asleep(watcher, 1)
    enqueue(watcher)
    assert len(sleeper.returned().rows) == 1
    conn.execute("COMMIT")


def test_hand_over_waits_for_the_next_job(db, conn):
    enqueue(conn)
    run = claim_next(conn)
    sleeper = Sleeper(
        db.connect(),
        "SELECT id FROM turnstile.complete_and_claim_next(%(id)s, %(attempt)s, wait => '60 s')",
        id=run.id,
        attempt=run.attempt,
    )
    await_asleep(conn, 1)
    job = enqueue(conn)
    assert sleeper.returned().rows == [(job,)]
    assert rows.state(conn, run.id) == "completed"


def test_many_sleepers_end_with_the_extension(db, conn):
    sleepers = put_to_sleep(db, conn, 4)
    conn.execute("DROP EXTENSION turnstile CASCADE; CREATE EXTENSION turnstile")
    enqueue(conn)
    for sleeper in sleepers:
        assert sleeper.returned().error is None
    assert claim_next(conn) is not None


# ---- What a claim leaves locked -------------------------------------------------------------------

HELD_UP = """
CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.kind = 'slow' AND new.state = 'running' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
    RETURN new;
END $$;
CREATE TRIGGER hold_up BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION hold_up();
"""


def test_a_claim_that_a_trigger_holds_up_keeps_no_other_waiting(db, conn, other):
    """Its jobs are locked, so others pass over them at once; they are there again when it is undone."""
    conn.execute(HELD_UP)
    slow, second = enqueue(conn, kind="slow"), enqueue(conn)
    conn.execute("SELECT pg_advisory_lock(1)")
    open_claim = db.connect()
    open_claim.execute("BEGIN")
    held_up = Sleeper(open_claim, "SELECT id FROM turnstile.claim(ARRAY['default'], 2)")
    waits = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'advisory'"
    until(lambda: conn.execute(waits, [held_up.pid]).fetchone() == (1,), "the claim is held up")
    other.execute("SET lock_timeout = '5 s'")
    assert claim_next(other) is None
    third = enqueue(conn)
    assert claim_next(other).id == third
    conn.execute("SELECT pg_advisory_unlock(1)")
    assert held_up.returned().rows == [(slow,), (second,)]
    open_claim.execute("ROLLBACK")
    assert [claim_next(other).id, claim_next(other).id] == [slow, second]