"""What one role holds on to stops nobody else: locks of its own, jobs that it has claimed, names that it listens to."""

import time

import psycopg
import pytest

from support.calls import call, claim, claim_next, enqueue
from support.errors import TOO_LONG, refused
from support.listeners import Listener

TASKS = ["thin history", "prune unique keys", "prune batches", "rescue", "promote", "fire recurring", "make partitions", "drop partitions"]


# ---- maintain() -----------------------------------------------------------------------------------


def _maintains(conn) -> None:
    """maintain() does what there is to do: a job falls due, an abandoned run is failed."""
    enqueue(conn, "lost", queue="lost")
    claim_next(conn, "lost", lease="1 hour")
    conn.execute("INSERT INTO turnstile.job (kind, queue, run_at) VALUES ('due', 'upkeep', now() + interval '1 hour')")
    conn.execute("UPDATE turnstile.job SET run_at = now() - interval '1 second' WHERE kind = 'due' AND state = 'scheduled'")
    conn.execute("UPDATE turnstile.job SET lease_expires_at = now() - interval '1 second' WHERE kind = 'lost'")
    done = dict(call(conn, "maintain"))
    assert (done["rescue"], done["promote"]) == (1, 1), done
    assert set(done) == set(TASKS)
    assert None not in done.values()


def test_advisory_locks_of_others_do_not_silence_maintain(conn, make_user, neighbour):
    """Anybody may take any of them, and did not need a right for it."""
    session = make_user().connect()
    session.execute("SELECT pg_advisory_lock(hashtext('turnstile.maintain'), hashtext(task)) FROM unnest(%s::text[]) task", [TASKS])
    session.execute("SELECT pg_advisory_lock(0), pg_advisory_lock(hashtext('turnstile')), pg_advisory_lock(0, 0)")
    _maintains(conn)
    neighbour.works()


def test_a_transaction_that_stays_open_does_not_silence_maintain(conn, intruder, neighbour):
    """It may be at a task itself, and then is in nobody's way at the others."""
    session = intruder.connect(autocommit=False)
    for statement in ("SELECT * FROM turnstile.maintain()", "SELECT turnstile.enqueue('mine')", "SELECT * FROM turnstile.claim_next()",
                      "SELECT turnstile_internal.run_task('rescue')"):  # fmt: skip
        try:
            session.execute(statement).fetchall()
        except psycopg.Error:
            session.rollback()
        neighbour.works()
        session.rollback()
    session.execute("SELECT * FROM pg_class, pg_sleep(0) LIMIT 1")
    _maintains(conn)
    neighbour.works()


def test_no_other_role_may_lock_the_tasks(intruder, make_user):
    for session in (intruder.connect(), make_user("USAGE ON SCHEMA turnstile", "SELECT ON ALL TABLES IN SCHEMA turnstile").connect()):
        for statement in ("SELECT FROM turnstile.maintain_task FOR UPDATE", "SELECT FROM turnstile.maintain_task FOR KEY SHARE",
                          "DO $$ BEGIN LOCK turnstile.maintain_task IN EXCLUSIVE MODE; END $$", "DELETE FROM turnstile.maintain_task"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(statement)


def test_two_are_not_at_the_same_task(conn, other):
    conn.execute("BEGIN")
    call(conn, "maintain")
    other.execute("INSERT INTO turnstile.job (kind, run_at) VALUES ('due', now() + interval '1 hour')")
    other.execute("UPDATE turnstile.job SET run_at = now() - interval '1 second'")
    assert dict(call(other, "maintain"))["promote"] == 0
    conn.execute("COMMIT")
    assert dict(call(other, "maintain"))["promote"] == 1


# ---- Claims in transactions that stay open --------------------------------------------------------


def test_an_open_transaction_cannot_claim_all_that_can_be_tracked(conn, intruder, neighbour):
    """It gets what it asks for up to a bound, then 54000, and others claim on beside it."""
    conn.execute("INSERT INTO turnstile.job (kind, queue) SELECT 'hoarded', 'hoard' FROM generate_series(1, 21000)")
    hogs = [intruder.connect(autocommit=False) for _ in range(2)]
    held = []
    for hog in hogs:
        held.append(len(claim(hog, ["hoard"], 20_000)))
        hog.execute("SAVEPOINT s")
        with refused(TOO_LONG) as caught:
            claim(hog, ["hoard"], 1)
        assert "10000 jobs" in caught.value.diag.message_detail
        hog.execute("ROLLBACK TO SAVEPOINT s")
        neighbour.works()
        neighbour.works(every_queue=False, session="s")
    assert held == [10_000, 10_000]
    for hog in hogs:
        hog.rollback()
    assert len(claim(conn, ["hoard"], 100)) == 100
    neighbour.works()


def test_what_was_given_back_can_be_claimed_again(conn, intruder):
    conn.execute("INSERT INTO turnstile.job (kind, queue) SELECT 'hoarded', 'hoard' FROM generate_series(1, 20000)")
    hog = intruder.connect(autocommit=False)
    hog.execute("SAVEPOINT s")
    first = len(claim(hog, ["hoard"], 20_000))
    hog.execute("ROLLBACK TO SAVEPOINT s")
    assert len(claim(hog, ["hoard"], 20_000)) == first
    hog.commit()
    assert len(claim(hog, ["hoard"], 5_000)) == 5_000, "what is committed is not open any more"
    hog.rollback()


# ---- Channels of listeners ------------------------------------------------------------------------


def test_names_that_no_claim_uses_do_not_use_up_the_channels(db, conn, intruder, neighbour):
    """Whoever listened before goes on, and whoever comes later gets a channel, without a restart."""
    before = Listener(db.connect(), "mail").find_nothing()
    junk = intruder.connect()
    for number in range(63):
        call(junk, "listen_channel", queue=f"junk {number}")
    with refused(TOO_LONG):
        call(junk, "listen_channel", queue="junk")
    # A claim from all queues finds nothing in those either.
    assert claim_next(conn, "*") is None
    give_up = time.monotonic() + 60
    while True:
        try:
            later = Listener(db.connect(), "post").find_nothing()
            break
        except psycopg.errors.ProgramLimitExceeded:
            assert time.monotonic() < give_up, "nobody made room"
            time.sleep(0.5)
    enqueue(conn, queue="post")
    later.told("post")
    assert claim_next(conn, "post")
    enqueue(conn, queue="mail")
    before.told("mail")
    neighbour.works()
