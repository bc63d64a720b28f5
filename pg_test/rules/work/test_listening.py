"""LISTEN and NOTIFY: who listens is told of work once for each time that a claim found nothing."""

import psycopg
import pytest

from support.calls import call, claim_next, complete, enqueue, enqueue_many, enqueue_times, fail
from support.errors import TOO_LONG, refused
from support.listeners import ALL_QUEUES, NOTIFIER, Listener
from support.losses import terminate
from support.settings import configure
from support.sleepers import Sleeper, await_asleep, until

SOON = "SELECT clock_timestamp() + interval '0.2 s'"


def soon(conn):
    return conn.execute(SOON).fetchone()[0]


@pytest.fixture
def listener(db):
    return Listener(db.connect(), "default")


# ---- Channels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["mail", "Mail", "a b", 'a"b', "a'; DROP", "é" * 127, "q" * 255, "turnstile", "1"])
def test_a_channel_needs_no_quotes_whatever_the_name(conn, queue):
    [[channel]] = call(conn, "listen_channel", queue=queue)
    assert channel.isascii() and channel.isidentifier() and channel == channel.lower() and len(channel) <= 63
    assert call(conn, "listen_channel", queue=queue) == [(channel,)], "it is the same every time"
    conn.execute(f"LISTEN {channel}")
    assert conn.execute("SELECT * FROM pg_listening_channels()").fetchall() == [(channel,)]


def test_each_queue_has_its_own_channel(conn):
    channels = {call(conn, "listen_channel", queue=queue)[0][0] for queue in ["a", "A", "b", "*"]}
    assert len(channels) == 4
    assert ALL_QUEUES in channels


def test_there_is_room_for_64_channels_and_those_go_on(db, conn, listener):
    for number in range(63):
        call(conn, "listen_channel", queue=f"q{number}")
    with refused(TOO_LONG):
        call(conn, "listen_channel", queue="one more")
    call(conn, "listen_channel", queue="q1")
    listener.find_nothing()
    enqueue(conn)
    listener.told("default")


def test_in_a_read_only_transaction_it_is_refused(conn):
    conn.execute("SET default_transaction_read_only = on")
    with refused("25006"):
        call(conn, "listen_channel", queue="default")


# ---- What is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda conn: enqueue(conn),
        lambda conn: enqueue_many(conn, [{"kind": "work"}] * 10),
        lambda conn: conn.execute("INSERT INTO turnstile.job (kind) VALUES ('work')"),
        lambda conn: conn.execute("COPY turnstile.job (kind) FROM PROGRAM 'echo work'"),
        lambda conn: enqueue(conn, run_at=soon(conn)),
        lambda conn: conn.execute("UPDATE turnstile.job SET queue = 'default'"),
    ],
    ids=["enqueue", "enqueue_many", "INSERT", "COPY", "due time", "moved from another queue"],
)
def test_a_new_job_is_told(conn, listener, change):
    enqueue(conn, queue="another")
    listener.find_nothing()
    change(conn)
    listener.told("default")
    assert claim_next(listener.conn) is not None


def test_a_job_of_a_late_commit_is_told(conn, other, listener):
    """The queue is found empty after the job was enqueued, and before that is committed."""
    other.execute("BEGIN")
    enqueue(other)
    listener.find_nothing()
    other.execute("COMMIT")
    listener.told("default")


@pytest.mark.parametrize(
    ("table", "before", "after"),
    [
        ("queue", {"paused": True}, {"paused": False}),
        ("queue", {"max_running": 0}, {"max_running": 1}),
        ("queue", {"paused_until": "2100-01-01"}, {"paused_until": "2001-01-01"}),
    ],
)
def test_a_changed_setting_is_told(conn, listener, table, before, after):
    configure(conn, table, "default", **before)
    enqueue(conn)
    listener.find_nothing()
    configure(conn, table, "default", **after)
    listener.told("default")
    assert claim_next(listener.conn) is not None


def test_the_end_of_a_pause_is_told(conn, listener):
    enqueue(conn)
    configure(conn, "queue", "default", paused_until=soon(conn))
    listener.find_nothing()
    _claims_once_told(listener)


def test_a_token_is_told(conn, listener):
    enqueue_times(conn, 2)
    configure(conn, "queue", "default", rate=1, rate_per="0.3 s")
    while claim_next(conn) is not None:
        pass
    enqueue_times(conn, 2)
    listener.find_nothing()
    _claims_once_told(listener)


def _claims_once_told(listener):
    """A claim may see to what has fallen due without getting it yet; then it has found nothing, and is told again."""
    listener.told("default")
    while claim_next(listener.conn) is None:
        listener.told("default")


@pytest.mark.parametrize(
    "end",
    [
        complete,
        lambda conn, run: fail(conn, run),
        lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE state = 'running'"),
    ],
    ids=["complete", "fail", "DELETE"],
)
def test_a_freed_slot_is_told_to_any_queue_behind_the_gate(conn, listener, end):
    configure(conn, "tenant", "acme", slots=1)
    enqueue(conn, queue="mail", tenant="acme")
    run = claim_next(conn, "mail")
    enqueue(conn, tenant="acme")
    listener.find_nothing()
    end(conn, run)
    listener.told("default")
    assert claim_next(listener.conn) is not None


def _break(conn, other):
    terminate(conn, other.info.backend_pid)


@pytest.mark.parametrize(
    "undo",
    [
        lambda conn, other: other.execute("ROLLBACK"),
        lambda conn, other: other.execute("ROLLBACK TO SAVEPOINT s"),
        _break,
    ],
    ids=["ROLLBACK", "ROLLBACK TO", "terminated"],
)
def test_an_undone_claim_is_told(conn, other, listener, undo):
    """An aborting transaction can send nothing itself."""
    enqueue(conn)
    other.execute("BEGIN; SAVEPOINT s")
    assert claim_next(other) is not None
    listener.find_nothing()
    undo(conn, other)
    listener.told("default")
    assert claim_next(listener.conn) is not None


def test_a_lease_that_ended_is_told(conn, listener):
    configure(conn, "queue", "default", retry_base="0")
    enqueue(conn)
    assert claim_next(conn, lease="0.2 s") is not None
    listener.find_nothing()
    _claims_once_told(listener)


def test_a_job_locked_by_another_session_is_told_once_it_is_let_go(conn, other, listener):
    enqueue(conn)
    other.execute("BEGIN; SELECT FROM turnstile.job FOR UPDATE")
    listener.find_nothing()
    other.execute("ROLLBACK")
    _claims_once_told(listener)


def test_whoever_listens_to_all_queues_is_told_of_any(db, conn):
    every = Listener(db.connect(), "*")
    for queue in ("mail", "default", "another"):
        every.find_nothing()
        enqueue(conn, queue=queue)
        every.told("*")
        assert claim_next(every.conn, "*") is not None


def test_whoever_finds_all_queues_empty_has_found_each_so(conn, listener):
    assert claim_next(conn, "*") is None
    enqueue(conn)
    listener.told("default")


def test_memory_that_has_to_be_rebuilt_makes_listeners_look(conn, listener):
    listener.find_nothing()
    conn.execute("TRUNCATE turnstile.job")
    listener.told("default")
    listener.find_nothing()
    enqueue(conn)
    listener.told("default")


def test_a_claim_that_is_rolled_back_has_found_nothing_all_the_same(conn, other, listener):
    other.execute("BEGIN")
    assert claim_next(other) is None
    other.execute("ROLLBACK")
    enqueue(conn)
    listener.told("default")


def test_a_claim_that_waited_in_vain_has_found_nothing(db, conn, listener):
    assert call(conn, "claim_next", wait="20 milliseconds") == []
    enqueue(conn)
    listener.told("default")


def test_hand_over_that_finds_nothing_is_followed_by_a_notification(conn, listener):
    enqueue(conn)
    run = claim_next(conn)
    assert call(conn, "complete_and_claim_next", job_id=run.id, attempt=run.attempt) == []
    enqueue(conn)
    listener.told("default")


# ---- As few as there are listeners to tell --------------------------------------------------------


def test_nothing_is_told_at_load(conn, listener):
    """A hundred commits, of which only the first comes after a claim that found nothing."""
    listener.find_nothing()
    enqueue_times(conn, 100)
    listener.told("default")
    for _ in range(99):
        assert complete(conn, claim_next(conn))
        enqueue(conn)
    assert listener.heard(conn) == []


def test_a_queue_that_no_claim_found_empty_is_not_told_of(conn, listener):
    enqueue(conn)
    assert claim_next(conn, "another") is None
    assert listener.heard(conn) == []


def test_other_queues_and_jobs_that_may_not_run_are_not_told_of(conn, listener):
    configure(conn, "tenant", "acme", slots=0)
    enqueue(conn, tenant="acme")
    listener.find_nothing()
    enqueue(conn, queue="mail")
    enqueue(conn, tenant="acme")
    enqueue(conn, run_at="2100-01-01")
    conn.execute("BEGIN")
    enqueue(conn)
    conn.execute("ROLLBACK")
    assert listener.heard(conn) == []
    enqueue(conn)
    listener.told("default")


def test_whoever_sleeps_in_the_server_arms_nothing(db, conn, listener):
    sleeper = Sleeper(db.connect(), "SELECT * FROM turnstile.claim_next(wait => '60 s')")
    await_asleep(conn, 1)
    enqueue(conn)
    assert len(sleeper.returned().rows) == 1
    assert listener.heard(conn) == []


def test_notifications_come_from_a_process_of_their_own(conn, listener):
    """No commit waits for the lock that sending takes."""
    listener.find_nothing()
    enqueue(conn)
    assert conn.execute(NOTIFIER).fetchall() == [(listener.wait().pid,)]


# ---- Turned off -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("queue", "row"), [("default", "default"), ("default", "*"), ("*", "*")])
def test_an_application_can_turn_it_off(db, conn, queue, row):
    listener = Listener(db.connect(), queue)
    configure(conn, "queue", "the last of this look", notify=True)
    configure(conn, "queue", row, notify=False)
    listener.find_nothing()
    enqueue(conn, queue="default")
    assert listener.heard(conn) == []
    assert claim_next(conn) is not None
    configure(conn, "queue", row, notify=True)
    assert claim_next(conn, queue) is None
    enqueue(conn, queue="default")
    listener.told(queue)


def test_the_setter_and_the_view_know_it(conn):
    assert call(conn, "set_queue", name="mail", notify=False)[0].notify is False
    assert conn.execute("SELECT notify FROM turnstile.queues WHERE name = 'mail'").fetchone() == (False,)
    assert call(conn, "set_queue", name="mail")[0].notify is False


# ---- Losses ---------------------------------------------------------------------------------------


def test_the_process_that_tells_may_die(conn, listener):
    for _ in range(3):
        listener.find_nothing()
        [[pid]] = conn.execute(NOTIFIER).fetchall()
        terminate(conn, pid)
        enqueue(conn)
        listener.told("default")
        assert claim_next(conn) is not None
        until(lambda pid=pid: conn.execute(NOTIFIER).fetchall() not in ([], [(pid,)]), "another one is there")


def test_whoever_listens_to_a_dropped_extension_listens_to_the_next(conn, listener):
    listener.find_nothing()
    conn.execute("DROP EXTENSION turnstile CASCADE; CREATE EXTENSION turnstile")
    assert claim_next(conn) is None
    listener.heard(conn)
    enqueue(conn)
    listener.told("default")


def test_databases_do_not_hear_of_each_other(db, conn, listener):
    listener.find_nothing()
    with psycopg.connect(dbname="postgres", autocommit=True) as stranger:
        stranger.execute(f"LISTEN {listener.channels['default']}")
        enqueue(conn)
        listener.told("default")
        assert list(stranger.notifies(timeout=0)) == []
