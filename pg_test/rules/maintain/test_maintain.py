"""maintain(): from several places at once, beside whoever holds locks, and task by task."""

import psycopg
import pytest

from support import rows
from support.calls import claim_next, complete, enqueue, enqueue_times
from support.crew import Progress, together
from support.errors import refused
from support.history import drop_days, finish, kept, maintain, make_day, partitions

TASKS = ["thin history", "prune unique keys", "prune batches", "rescue", "promote", "fire recurring", "make partitions", "drop partitions"]


def test_each_task_has_a_row(conn):
    assert list(maintain(conn)) == TASKS
    assert set(maintain(conn).values()) == {0}


def test_an_idle_queue_is_rescued_and_its_due_jobs_are_made_available(conn):
    lost, due = enqueue(conn, max_attempts=1), enqueue(conn, queue="later")
    claim_next(conn)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = now() - interval '1 second' WHERE id = %s", [lost])
    conn.execute(
        "UPDATE turnstile.job SET state = 'scheduled', run_at = now() - interval '1 second' WHERE id = %s", [due]
    )
    done = maintain(conn)
    assert (done["rescue"], done["promote"]) == (1, 1)
    assert (rows.state(conn, lost), rows.state(conn, due)) == ("discarded", "available")


def test_a_second_session_leaves_a_task_to_the_first(conn, other):
    make_day(conn, 10)
    conn.execute("BEGIN")
    assert maintain(conn)["drop partitions"] == 1
    assert set(maintain(other).values()) == {0}
    conn.execute("COMMIT")


def test_many_sessions_at_once_do_the_work_once(db, conn):
    drop_days(conn)
    for days in (10, 11, 12):
        make_day(conn, days)
        finish(conn, days)
    done = together([lambda own=db.connect(): maintain(own) for _ in range(6)])
    done.append(maintain(conn))
    assert sum(each["make partitions"] or 0 for each in done) == 8
    assert sum(each["drop partitions"] or 0 for each in done) == 3
    assert len(partitions(conn)) == 8


def test_what_is_rolled_back_was_not_done(conn):
    name = make_day(conn, 10)
    ids = finish(conn, 10, 3)
    conn.execute("BEGIN; SAVEPOINT before")
    assert maintain(conn)["drop partitions"] == 1
    conn.execute("ROLLBACK TO before; COMMIT")
    assert name in partitions(conn)
    assert kept(conn) == set(ids)


@pytest.mark.parametrize("seconds", [0, 1.2], ids=["a young transaction", "an old transaction"])
@pytest.mark.parametrize("read", ["the partition", "the history"])
def test_a_report_is_not_waited_for_and_holds_no_call_up(db, conn, other, seconds, read):
    name = make_day(conn, 10)
    finish(conn, 10)
    report = db.connect(autocommit=False)
    report.execute(f"SELECT count(*) FROM {name if read == 'the partition' else 'turnstile.job_history'}")
    report.execute("SELECT pg_sleep(%s)", [seconds])
    enqueue_times(conn, 200)
    progress = Progress(200)
    # Were the lock waited for, the worker would wait behind that for as long as the report is open.
    other.execute("SET lock_timeout = 0")
    conn.execute("SET lock_timeout = '10s'")

    def work():
        while progress.going:
            complete(conn, claim_next(conn))
            progress.add()

    def keep_house():
        answers = [maintain(other)["drop partitions"]]
        while progress.going:
            answers.append(maintain(other)["drop partitions"])
        return answers

    _, answers = together([work, keep_house], progress)
    assert set(answers) == {None}
    assert name in partitions(conn)
    report.rollback()
    assert maintain(other)["drop partitions"] == 1


def test_a_dump_keeps_partitions_from_being_made_until_it_is_over(db, conn):
    drop_days(conn)
    dump = db.connect(autocommit=False)
    dump.execute("LOCK TABLE turnstile.job_history IN ACCESS SHARE MODE")
    assert maintain(conn)["make partitions"] is None
    with refused("55P03"):
        conn.execute("SELECT turnstile.make_history_partitions()")
    enqueue(conn)
    assert complete(conn, claim_next(conn))
    dump.rollback()
    assert maintain(conn)["make partitions"] == 8


def test_one_partition_in_use_does_not_keep_the_others(db, conn):
    first, second = make_day(conn, 11), make_day(conn, 10)
    report = db.connect(autocommit=False)
    report.execute(f"SELECT count(*) FROM {first}")
    assert maintain(conn)["drop partitions"] == 1
    assert (first in partitions(conn), second in partitions(conn)) == (True, False)


def test_workers_go_on_while_days_are_dropped(db, conn):
    for days in range(8, 20):
        make_day(conn, days)
        finish(conn, days, 2000)
    stay = make_day(conn, 2)
    kept_ids = finish(conn, 2, 100)
    enqueued = enqueue_times(conn, 600)
    progress = Progress(len(enqueued))

    def worker(own):
        while progress.going:
            job = claim_next(own)
            if job is None:
                progress.idle()
            elif complete(own, job):
                progress.add()

    def keep_house():
        dropped = 0
        while progress.going or dropped < 12:
            dropped += maintain(conn)["drop partitions"] or 0
        return dropped

    tasks = [lambda own=db.connect(): worker(own) for _ in range(4)]
    assert together([*tasks, keep_house], progress)[-1] == 12
    assert stay in partitions(conn)
    assert kept(conn) == {*kept_ids, *enqueued}


def _warnings(conn) -> list:
    """Collects (SQLSTATE, message) of the warnings from now on."""
    told = []
    conn.execute("SET client_min_messages = warning")
    conn.add_notice_handler(lambda notice: told.append((notice.severity, notice.sqlstate, notice.message_hint)))
    return told


def test_a_partition_that_others_depend_on_is_told_and_does_not_keep_the_others(conn):
    told = _warnings(conn)
    names = [make_day(conn, days) for days in (12, 11, 10)]
    conn.execute(f"CREATE VIEW dependent AS SELECT id FROM {names[0]}")
    assert maintain(conn)["drop partitions"] == 2
    [(severity, sqlstate, hint)] = told
    assert (severity, sqlstate, bool(hint)) == ("WARNING", "2BP01", True)
    conn.execute("DROP VIEW dependent")
    assert maintain(conn)["drop partitions"] == 1


def test_a_task_that_fails_is_told_and_does_not_keep_the_others_from_their_work(conn):
    told = _warnings(conn)
    drop_days(conn)
    make_day(conn, 10)
    conn.execute("ALTER TABLE turnstile.history_pass RENAME TO hidden")
    done = maintain(conn)
    assert (done["thin history"], done["make partitions"]) == (None, 8)
    assert ("WARNING", "42P01") in [each[:2] for each in told]
    conn.execute("ALTER TABLE turnstile.hidden RENAME TO history_pass")
    assert maintain(conn)["drop partitions"] == 1
    assert len(partitions(conn)) == 8


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_it_runs_at_every_isolation_level(conn, isolation):
    drop_days(conn)
    make_day(conn, 10)
    conn.execute(f"BEGIN ISOLATION LEVEL {isolation}")
    done = maintain(conn)
    conn.execute("COMMIT")
    assert (done["make partitions"], done["drop partitions"]) == (8, 1)


def test_a_read_only_transaction_is_refused(conn):
    conn.execute("BEGIN READ ONLY")
    with refused("25006"):
        maintain(conn)


def test_a_cancelled_call_changes_nothing(conn, db):
    name = make_day(conn, 10)
    conn.execute("CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); END'")
    conn.execute("CREATE EVENT TRIGGER slow_drop ON sql_drop EXECUTE FUNCTION slow()")
    conn.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        maintain(conn)
    conn.execute("SET statement_timeout = '120s'; DROP EVENT TRIGGER slow_drop")
    assert name in partitions(conn)
    assert maintain(db.connect())["drop partitions"] == 1
