"""Heartbeat, progress, snooze, discard, cancel, retry, reprioritize, and their forms for many jobs."""

import psycopg
import pytest
from psycopg import sql

from support import rows
from support.calls import (
    call, claim_all, claim_next, complete, complete_many, enqueue, enqueue_times, fail, ids, release,
)  # fmt: skip
from support.database import server
from support.due import claim_when_due
from support.errors import BAD_VALUE, NO_SUCH_JOB, WRONG_STATE, refused
from support.lapse import EXPIRED, let_lease_end
from support.settings import configure


def _of_job(conn, function, job_id, **arguments):
    return call(conn, function, job_id=job_id, **arguments)[0][0]


def _of_run(conn, function, run, **arguments):
    return call(conn, function, job_id=run.id, attempt=run.attempt, **arguments)[0][0]


def _lease(conn, run) -> float:
    query = "SELECT extract(epoch FROM lease_expires_at - clock_timestamp()) FROM turnstile.job WHERE id = %s"
    return float(conn.execute(query, [run.id]).fetchone()[0])


def _flag(conn, job_id):
    return conn.execute(
        "SELECT cancel_requested_at IS NOT NULL FROM turnstile.jobs WHERE id = %s", [job_id]
    ).fetchone()[0]


# Heartbeat and progress


def test_a_heartbeat_extends_the_lease(conn):
    configure(conn, "queue", "default", lease="10 minutes")
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp()")
    assert _of_run(conn, "heartbeat", run) is True
    assert 590 < _lease(conn, run) <= 600
    assert _of_run(conn, "heartbeat", run, lease="1 hour") is True
    assert 3590 < _lease(conn, run) <= 3600


def test_progress_is_seen_by_anybody_at_once(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    before = rows.live(other, run.id).lease_expires_at
    assert _of_run(conn, "progress", run, done=3, total=10, message="third") is True
    row = rows.live(other, run.id)
    assert {**row.progress, "at": None} == {"done": 3, "total": 10, "message": "third", "at": None}
    assert row.lease_expires_at == before
    _of_run(conn, "progress", run, done="0.5")
    assert rows.live(other, run.id).progress["total"] is None


def test_progress_touches_no_index(conn):
    enqueue_times(conn, 20)
    runs = claim_all(conn)
    stats = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'job'"
    conn.execute("VACUUM turnstile.job")
    conn.execute("SELECT pg_stat_force_next_flush()")
    before = conn.execute(stats).fetchone()
    for step in range(50):
        for run in runs:
            _of_run(conn, "progress", run, done=step, total=50, message="some text")
    conn.execute("SELECT pg_stat_force_next_flush()")
    updates, hot = (after - then for after, then in zip(conn.execute(stats).fetchone(), before, strict=True))
    assert updates == 1000
    # While a snapshot of another process keeps what is dead, such as that of an ANALYZE in passing, a page may be full.
    assert hot > 900


@pytest.mark.parametrize("function, more", [
    ("heartbeat", {}), ("progress", {"done": 1}), ("snooze", {"delay": "0"}), ("discard", {}),
])  # fmt: skip
def test_a_superseded_run_gets_55000_and_changes_nothing(conn, function, more):
    enqueue_times(conn, 2)
    first, second = claim_all(conn)
    release(conn, first)
    complete(conn, second)
    before = rows.everything(conn)
    for run in (first, second):
        with refused(WRONG_STATE):
            _of_run(conn, function, run, **more)
    with refused(NO_SUCH_JOB):
        call(conn, function, job_id=10**9, attempt=1, **more)
    assert rows.everything(conn) == before


@pytest.mark.parametrize("function, more", [("heartbeat", {}), ("progress", {"done": 1})])
def test_the_worker_learns_of_a_cancellation(conn, function, more):
    enqueue(conn)
    run = claim_next(conn)
    assert _of_run(conn, function, run, **more) is True
    assert _of_job(conn, "cancel", run.id) == "running"
    assert _of_run(conn, function, run, **more) is False


# Snooze


def test_a_snoozed_job_comes_back_and_the_attempt_does_not_count(conn):
    enqueue(conn, max_attempts=1)
    run = claim_next(conn, worker="w")
    assert _of_run(conn, "snooze", run, delay="300 milliseconds") is True
    row = rows.live(conn, run.id)
    assert (row.state, row.worker, row.lease_expires_at, row.errors) == ("scheduled", None, None, None)
    again = claim_when_due(conn)
    assert (again.id, again.attempt, again.max_attempts) == (run.id, 2, 2)
    assert fail(conn, again) == "discarded"


def test_a_snoozed_job_frees_its_session_also_when_it_held_it(conn):
    first, second = enqueue_times(conn, 2, session="chat-1")
    fail(conn, claim_next(conn), retry_in="0")
    held = claim_when_due(conn)
    assert held.id == first
    _of_run(conn, "snooze", held, delay="1 hour")
    assert claim_next(conn).id == second


# Cancel


@pytest.mark.parametrize("state", ["available", "scheduled", "retryable"])
def test_a_waiting_job_is_cancelled_at_once(conn, state):
    job_id = enqueue(conn)
    if state == "scheduled":
        _of_run(conn, "snooze", claim_next(conn), delay="1 hour")
    elif state == "retryable":
        fail(conn, claim_next(conn), retry_in="1 hour")
    assert rows.state(conn, job_id) == state
    assert [_of_job(conn, "cancel", job_id) for _ in range(2)] == ["cancelled", "cancelled"]
    assert rows.finished(conn, job_id).state == "cancelled"
    assert claim_next(conn) is None


@pytest.mark.parametrize("end", [complete, lambda conn, run: fail(conn, run, discard=True)])
def test_a_finished_job_cannot_be_cancelled(conn, end):
    enqueue(conn)
    run = claim_next(conn)
    end(conn, run)
    with refused(WRONG_STATE):
        _of_job(conn, "cancel", run.id)
    with refused(NO_SUCH_JOB):
        _of_job(conn, "cancel", 10**9)


def test_a_run_that_completes_anyway_stays_completed_and_says_so(conn):
    enqueue_times(conn, 3)
    runs = claim_all(conn)
    said = []
    conn.execute("SET client_min_messages = notice")
    conn.add_notice_handler(lambda notice: said.append(notice.message_primary))
    for run in runs[:2]:
        assert [_of_job(conn, "cancel", run.id) for _ in range(2)] == ["running", "running"]
    complete(conn, runs[0])
    assert complete_many(conn, runs[1:]) == 2
    assert len(said) == 2
    assert [rows.state(conn, run.id) for run in runs] == ["completed"] * 3
    assert [_flag(conn, run.id) for run in runs] == [True, True, False]


@pytest.mark.parametrize("end", [
    lambda conn, run: fail(conn, run, error="stopped"),
    lambda conn, run: fail(conn, run, error="stopped", discard=True),
    release,
    lambda conn, run: _of_run(conn, "snooze", run, delay="1 hour"),
    lambda conn, run: (let_lease_end(conn, run), conn.execute("SELECT turnstile.rescue()")),
], ids=["fail", "fail for good", "release", "snooze", "rescue"])  # fmt: skip
def test_a_run_to_be_cancelled_that_does_not_complete_is_cancelled(conn, end):
    first, second = enqueue_times(conn, 2, session="chat-1")
    run = claim_next(conn)
    _of_job(conn, "cancel", run.id)
    end(conn, run)
    row = rows.finished(conn, first)
    assert row.state == "cancelled"
    assert [entry["error"] for entry in row.errors or []] in ([], ["stopped"], [EXPIRED])
    assert claim_next(conn).id == second, "its session goes on"


@pytest.mark.parametrize("end", ["cancel", "discard"])
def test_a_session_held_for_a_retry_goes_on_once_that_is_cancelled_or_discarded(conn, end):
    first, second = enqueue_times(conn, 2, session="chat-1")
    fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn) is None
    _of_job(conn, end, first)
    assert claim_next(conn).id == second


# Discard


def test_discard_of_a_run_and_of_a_waiting_job(conn):
    enqueue_times(conn, 3)
    run = claim_next(conn)
    with refused(WRONG_STATE):
        _of_job(conn, "discard", run.id)
    assert _of_run(conn, "discard", run, error="bad") == "discarded"
    assert [entry["error"] for entry in rows.finished(conn, run.id).errors] == ["bad"]
    waiting = claim_next(conn)
    release(conn, waiting)
    assert _of_job(conn, "discard", waiting.id, error="not wanted") == "discarded"
    [entry] = rows.finished(conn, waiting.id).errors
    assert (entry["attempt"], entry["error"], entry["worker"]) == (1, "not wanted", None)
    assert _of_job(conn, "discard", waiting.id) == "discarded"
    last = claim_next(conn)
    complete(conn, last)
    with refused(WRONG_STATE):
        _of_job(conn, "discard", last.id)
    with refused(NO_SUCH_JOB):
        _of_job(conn, "discard", 10**9)


# Retry


@pytest.mark.parametrize("end", [
    complete, lambda conn, run: fail(conn, run, discard=True, error="no"),
    lambda conn, run: (release(conn, run), _of_job(conn, "cancel", run.id)),
], ids=["completed", "discarded", "cancelled"])  # fmt: skip
def test_a_finished_job_comes_back_whole(conn, end):
    job_id = enqueue(conn, tenant="acme", session="chat-1", priority=3, max_attempts=2, payload={"n": 1}, metadata={"m": 2})
    run = claim_next(conn)
    end(conn, run)
    before = rows.finished(conn, job_id)
    assert _of_job(conn, "retry", job_id) == "available"
    row = rows.live(conn, job_id)
    kept = "tenant session priority payload metadata errors attempt max_attempts created_at"
    assert [getattr(row, name) for name in kept.split()] == [getattr(before, name) for name in kept.split()]
    cleared = "worker claimed_at lease_expires_at cancel_requested_at progress owner_pid"
    assert [getattr(row, name) for name in cleared.split()] == [None] * 6
    assert rows.finished(conn, job_id) == before, "its history is kept"
    assert _of_job(conn, "retry", job_id) == "available"
    ends = []
    for attempt in (2, 3):
        again = claim_when_due(conn)
        assert (again.id, again.attempt) == (job_id, attempt)
        ends.append(fail(conn, again, retry_in="0"))
    assert ends == ["retryable", "discarded"], "a full new budget of attempts"


def test_errors_of_three_failures_are_there_after_success_and_after_a_retry(conn):
    configure(conn, "queue", "default", retry_base="10 milliseconds")
    job_id = enqueue(conn, max_attempts=4)
    waits = []
    for number in range(3):
        run = claim_when_due(conn)
        assert fail(conn, run, error=f"error {number}") == "retryable"
        waits.append(conn.execute("SELECT run_at - clock_timestamp() FROM turnstile.job").fetchone()[0])
    assert sorted(waits) == waits
    complete(conn, claim_when_due(conn))
    _of_job(conn, "retry", job_id)
    fail(conn, claim_next(conn), error="late", discard=True)
    last = conn.execute("SELECT errors FROM turnstile.job_history ORDER BY finished_at DESC LIMIT 1").fetchone()[0]
    assert [(entry["attempt"], entry["error"]) for entry in last] == [
        (1, "error 0"), (2, "error 1"), (3, "error 2"), (5, "late"),
    ]  # fmt: skip


@pytest.mark.parametrize("put_off", [
    lambda conn, run: fail(conn, run, retry_in="1 hour"),
    lambda conn, run: _of_run(conn, "snooze", run, delay="1 hour"),
])  # fmt: skip
def test_retry_makes_a_job_that_was_put_off_available_now(conn, put_off):
    enqueue(conn)
    run = claim_next(conn)
    put_off(conn, run)
    assert _of_job(conn, "retry", run.id) == "available"
    assert claim_next(conn).id == run.id


def test_a_running_or_unknown_job_cannot_be_retried(conn):
    enqueue(conn)
    run = claim_next(conn)
    with refused(WRONG_STATE):
        _of_job(conn, "retry", run.id)
    with refused(NO_SUCH_JOB):
        _of_job(conn, "retry", 10**9)


def test_an_attempt_number_is_never_used_twice(conn):
    job_id = enqueue(conn)
    seen = []
    for _ in range(3):
        run = claim_next(conn)
        seen.append(run.attempt)
        complete(conn, run)
        _of_job(conn, "retry", job_id)
    assert seen == [1, 2, 3]


# Reprioritize


def test_reprioritize(conn):
    first, second = enqueue_times(conn, 2, priority=5)
    assert [_of_job(conn, "reprioritize", second, priority=1) for _ in range(2)] == [True, False]
    run = claim_next(conn)
    assert run.id == second
    assert _of_job(conn, "reprioritize", second, priority=9) is True
    release(conn, run)
    assert ids(claim_all(conn)) == [first, second]
    complete(conn, rows.live(conn, first))
    with refused(WRONG_STATE):
        _of_job(conn, "reprioritize", first, priority=1)
    with refused(NO_SUCH_JOB):
        _of_job(conn, "reprioritize", 10**9, priority=1)


# Many

MANY = ["cancel_many", "discard_many", "retry_many"]


def _many(conn, function, **filters):
    return call(conn, function, **filters)[0][0]


@pytest.mark.parametrize("function", MANY)
def test_a_call_without_any_filter_is_refused(conn, function):
    enqueue_times(conn, 2)
    with refused(BAD_VALUE):
        _many(conn, function)
    with refused(BAD_VALUE):
        _many(conn, function, max_jobs=5)
    with refused(BAD_VALUE):
        _many(conn, function, state="unknown")
    assert rows.counts(conn) == {"available": 2}


@pytest.mark.parametrize("filters, number", [
    ({"queue": "mail"}, 2), ({"kind": "send"}, 1), ({"tenant": "acme"}, 2), ({"tenant": "acme", "account": "sales"}, 1),
    ({"session": "s"}, 1), ({"state": "available"}, 6), ({"older_than": "0"}, 6), ({"older_than": "1 hour"}, 0),
    ({"queue": "mail", "kind": "send"}, 0), ({"queue": "default", "max_jobs": 2}, 2), ({"queue": "mail", "max_jobs": 0}, 0),
])  # fmt: skip
@pytest.mark.parametrize("function, state", [("cancel_many", "cancelled"), ("discard_many", "discarded")])
def test_filters_choose(conn, function, state, filters, number):
    for job in ({"queue": "mail"}, {"queue": "mail"}, {"kind": "send"}, {"tenant": "acme"}, {"session": "s"},
                {"tenant": "acme", "account": "sales"}):  # fmt: skip
        enqueue(conn, **job)
    assert _many(conn, function, **filters) == number
    assert rows.counts(conn).get(state, 0) == number


def test_cancel_many_asks_the_running_ones_once(conn):
    enqueue_times(conn, 4)
    runs = [claim_next(conn), claim_next(conn)]
    assert [_many(conn, "cancel_many", queue="default") for _ in range(2)] == [4, 0]
    assert [_flag(conn, run.id) for run in runs] == [True, True]
    assert rows.counts(conn) == {"running": 2, "cancelled": 2}


def test_discard_many_leaves_running_ones_alone(conn):
    enqueue_times(conn, 3)
    claim_next(conn)
    assert _many(conn, "discard_many", queue="default") == 2
    with refused(BAD_VALUE):
        _many(conn, "discard_many", state="running")


def test_retry_many_brings_back_what_it_is_asked_for(conn):
    enqueue_times(conn, 5)
    runs = claim_all(conn)
    complete(conn, runs[0])
    fail(conn, runs[1], discard=True)
    fail(conn, runs[2], retry_in="1 hour")
    _of_run(conn, "snooze", runs[3], delay="1 hour")
    release(conn, runs[4])
    _of_job(conn, "cancel", runs[4].id)
    assert _many(conn, "retry_many", queue="default") == 3
    live = "SELECT id FROM turnstile.job WHERE state = 'available' ORDER BY id"
    assert [row[0] for row in conn.execute(live)] == [runs[1].id, runs[2].id, runs[4].id]
    assert _many(conn, "retry_many", state="scheduled") == 1
    assert _many(conn, "retry_many", state="completed") == 1
    assert _many(conn, "retry_many", older_than="0") == 0
    assert sorted(ids(claim_all(conn))) == sorted(ids(runs))


def test_many_are_bounded_and_pass_over_locked_ones(conn, other):
    made = enqueue_times(conn, 5)
    other.execute(f"BEGIN; SELECT 1 FROM turnstile.job WHERE id = {made[0]} FOR UPDATE")
    assert [_many(conn, "cancel_many", queue="default", max_jobs=3) for _ in range(3)] == [3, 1, 0]
    other.execute("COMMIT")
    assert _many(conn, "cancel_many", queue="default") == 1
    assert [_many(conn, "retry_many", queue="default", max_jobs=3) for _ in range(3)] == [3, 2, 0]


@pytest.mark.parametrize("function", [*MANY, "cancel", "retry", "reprioritize"])
def test_undone_in_a_savepoint_it_never_was(conn, function):
    job_id = enqueue(conn)
    release(conn, claim_next(conn))
    if function.startswith("retry"):
        _of_job(conn, "cancel", job_id)
    before = rows.everything(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    if function in MANY:
        assert _many(conn, function, queue="default") == 1
    else:
        _of_job(conn, function, job_id, **({"priority": 3} if function == "reprioritize" else {}))
    conn.execute("ROLLBACK TO s; COMMIT")
    assert rows.everything(conn) == before


# The view


def test_the_view_tells_how_long_jobs_waited_and_ran(conn):
    waiting, running, done, ahead, never = enqueue_times(conn, 5)
    _of_job(conn, "cancel", never)
    conn.execute("UPDATE turnstile.job SET run_at = run_at - interval '1 hour'")
    conn.execute("UPDATE turnstile.job SET run_at = now() + '1 hour', state = 'scheduled' WHERE id = %s", [ahead])
    for job_id in (running, done):
        conn.execute("UPDATE turnstile.job SET priority = -1 WHERE id = %s", [job_id])
    run, over = claim_next(conn), claim_next(conn)
    conn.execute("UPDATE turnstile.job SET claimed_at = claimed_at - interval '10 minutes' WHERE state = 'running'")
    complete(conn, over)
    assert (run.id, over.id) == (running, done)
    told = dict(conn.execute(
        "SELECT id, (queued_at = created_at, started_at IS NOT NULL, finished_at IS NOT NULL,"
        " extract(epoch FROM waiting)::int / 60, extract(epoch FROM running)::int / 60)::text FROM turnstile.jobs"
    ).fetchall())  # fmt: skip
    assert told == {
        waiting: "(t,f,f,60,)", running: "(t,t,f,50,10)", done: "(t,t,t,50,10)", ahead: "(t,f,f,0,)",
        never: "(t,f,t,0,)",
    }  # fmt: skip


# Errors


@pytest.mark.parametrize("letter", ["x", "é", "日", "🐢"])
def test_a_long_error_is_cut_with_a_mark(conn, letter):
    enqueue(conn)
    assert fail(conn, claim_next(conn), error=letter * 5000) == "retryable"
    [entry] = conn.execute("SELECT errors FROM turnstile.job").fetchone()[0]
    assert entry["error"] == letter * 4000 + " [cut: 5000 characters]"


@pytest.mark.parametrize("error", [None, "", "\\u0000", "\\ud800", "\x01\x1b[0m", '"}', "a\nb", "\ufffd"])
def test_any_text_is_an_error(conn, error):
    enqueue(conn)
    assert fail(conn, claim_next(conn), error=error) == "retryable"
    assert conn.execute("SELECT errors -> 0 ->> 'error' FROM turnstile.job").fetchone()[0] == error


def test_the_last_thousand_errors_are_kept(conn):
    enqueue(conn, max_attempts=10_000)
    run = claim_next(conn)
    conn.execute("UPDATE turnstile.job SET errors = (SELECT jsonb_agg(jsonb_build_object('attempt', n)) FROM generate_series(1, 1000) n)")
    fail(conn, run, error="last")
    errors = conn.execute("SELECT errors FROM turnstile.job").fetchone()[0]
    assert (len(errors), errors[0]["attempt"], errors[-1]["error"]) == (1000, 2, "last")


def test_broken_bytes_in_a_database_without_encoding(db):
    """SQL_ASCII takes any byte but NUL."""
    name = f"{db.name}_ascii"
    with server() as admin:
        admin.execute(sql.SQL(
            "CREATE DATABASE {} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
        ).format(sql.Identifier(name)))  # fmt: skip
    try:
        with psycopg.connect(dbname=name, autocommit=True) as conn:
            conn.execute("CREATE EXTENSION turnstile")
            conn.execute("SELECT turnstile.enqueue('work')")
            conn.execute("SELECT turnstile.claim_next()")
            state = conn.execute(
                "SELECT turnstile.fail(id, attempt, convert_from('\\xff80c3', 'SQL_ASCII') || repeat('x', 5000))"
                " FROM turnstile.job"
            ).fetchone()[0]
            assert state in (b"retryable", "retryable")
            assert conn.execute("SELECT length(errors -> 0 ->> 'error') FROM turnstile.job").fetchone()[0] > 4000
    finally:
        with server() as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
