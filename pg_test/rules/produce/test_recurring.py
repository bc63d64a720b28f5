"""Recurring jobs without pg_cron: at most one job a firing, the options of enqueue, and a clear refusal."""

import pytest

from support import rows
from support.calls import call, enqueue
from support.crew import together
from support.errors import BAD_VALUE, NO_SUCH_JOB, NULL_VALUE, TOO_LONG, WRONG_STATE, refused
from support.recurring import begin_in_a_young_minute, fire, recurring_jobs


def _recur(conn, name: str = "nightly", **columns) -> None:
    """A recurring job as schedule() leaves it, fired by hand."""
    given = {"name": name, "cron": "0 3 * * *", "kind": "report"} | columns
    names, places = ", ".join(given), ", ".join(f"%({column})s" for column in given)
    conn.execute(f"INSERT INTO turnstile.recurring ({names}) VALUES ({places})", given)


def _jobs(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0]


def test_a_firing_enqueues_once(conn, other):
    _recur(conn)
    begin_in_a_young_minute(conn)
    job_id = fire(conn)
    assert rows.live(conn, job_id).kind == "report"
    assert [fire(conn), fire(other)] == [None, None]
    assert _jobs(conn) == 1


def test_the_next_minute_is_another_firing(conn):
    _recur(conn, last_firing="2001-01-01 00:00")
    assert fire(conn)
    conn.execute("UPDATE turnstile.recurring SET last_firing = last_firing - interval '1 minute'")
    assert fire(conn)
    assert _jobs(conn) == 2


def test_many_at_the_same_moment_enqueue_once(db, conn):
    _recur(conn)
    begin_in_a_young_minute(conn)
    done = together([lambda own=db.connect(): fire(own) for _ in range(8)])
    assert len([job_id for job_id in done if job_id]) == 1
    assert _jobs(conn) == 1


def test_a_second_waits_for_the_first_and_fires_if_that_was_rolled_back(conn, other):
    _recur(conn)
    begin_in_a_young_minute(conn)
    conn.execute("BEGIN")
    assert fire(conn)

    def roll_back():
        waiting = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        while not conn.execute(waiting, [other.info.backend_pid]).fetchone():
            conn.execute("SELECT pg_stat_clear_snapshot()")
        conn.execute("ROLLBACK")

    _, job_id = together([roll_back, lambda: fire(other)])
    assert job_id
    assert _jobs(conn) == 1


def test_a_firing_undone_to_a_savepoint_can_be_repeated(conn):
    _recur(conn)
    begin_in_a_young_minute(conn)
    conn.execute("BEGIN; SAVEPOINT before")
    assert fire(conn)
    conn.execute("ROLLBACK TO before")
    assert fire(conn)
    conn.execute("COMMIT")
    assert _jobs(conn) == 1


def test_all_options_reach_the_job(conn):
    options = {"queue": "q", "tenant": "t", "account": "a", "session": "s", "concurrency_key": "c", "priority": -4,
               "max_attempts": 7}  # fmt: skip
    _recur(conn, payload='{"n": 1}', metadata='{"m": 2}', **options)
    row = rows.live(conn, fire(conn))
    assert {name: getattr(row, name) for name in options} == options
    assert (row.payload, row.metadata, row.state) == ({"n": 1}, {"m": 2}, "available")
    shown = recurring_jobs(conn)[0]
    assert (shown.last_job_id, shown.active) == (row.id, False)


def test_a_firing_that_enqueue_refuses_can_be_repeated(conn):
    _recur(conn, queue="q" * 256)
    with refused(TOO_LONG):
        fire(conn)
    conn.execute("UPDATE turnstile.recurring SET queue = 'q'")
    assert fire(conn)


def test_an_unknown_name_is_refused(conn):
    with refused(NO_SUCH_JOB):
        fire(conn, "nobody")


WITHOUT = {
    "enable_cron": {},
    "disable_cron": {},
    "clean_cron_log": {},
    "schedule": {"name": "n", "cron": "* * * * *", "kind": "work"},
}


@pytest.mark.parametrize("function", WITHOUT)
def test_without_pg_cron_the_refusal_says_how_to_do_without(conn, function):
    with refused(WRONG_STATE) as caught:
        call(conn, function, **WITHOUT[function])
    assert "turnstile.maintain()" in caught.value.diag.message_hint
    assert conn.execute("SELECT * FROM turnstile.recurring").fetchall() == []


def test_unscheduling_works_without_pg_cron(conn):
    _recur(conn)
    assert call(conn, "unschedule", name="nightly")[0][0] is True
    assert call(conn, "unschedule", name="nightly")[0][0] is False


REFUSED = [
    ({"name": ""}, BAD_VALUE),
    ({"name": "n" * 256}, TOO_LONG),
    ({"kind": ""}, BAD_VALUE),
    ({"queue": ""}, BAD_VALUE),
    ({"tenant": "t" * 256}, TOO_LONG),
    ({"payload": None}, NULL_VALUE),
    ({"payload": {"text": "x" * 1_048_577}}, TOO_LONG),
    ({"priority": None}, NULL_VALUE),
    ({"max_attempts": 0}, BAD_VALUE),
    ({"unique_mode": "sometimes"}, BAD_VALUE),
    ({"cron": None}, NULL_VALUE),
    ({"cron": "10 seconds"}, BAD_VALUE),
]


@pytest.mark.parametrize(("bad", "sqlstate"), REFUSED, ids=[str(bad)[:40] for bad, _ in REFUSED])
def test_what_enqueue_would_refuse_is_refused_when_it_is_scheduled(conn, bad, sqlstate):
    with refused(sqlstate):
        call(conn, "schedule", **WITHOUT["schedule"] | bad)
    assert _jobs(conn) == 0
    assert conn.execute("SELECT * FROM turnstile.recurring").fetchall() == []
    assert enqueue(conn), "and the try has left nothing in the way"
