"""turnstile.recent_failures: runs that failed and will be repeated, each once."""

import pytest

from support.calls import call, cancel, claim, claim_next, complete, discard, enqueue, enqueue_times, fail, ids, release, retry, snooze
from support.errors import NO_PRIVILEGE, refused
from support.losses import terminate

KEPT = 512


def failures(conn, since=None):
    return call(conn, "recent_failures", since=since)


def keys(found) -> list:
    return [(row.id, row.attempt) for row in found]


def test_it_says_which_run_failed_and_why(conn):
    job = enqueue(conn, queue="mail", kind="send", tenant="acme")
    run = claim_next(conn, "mail", worker="me")
    fail(conn, run, error="no route", retry_in="1 hour")
    [found] = failures(conn)
    assert (found.id, found.queue, found.kind, found.tenant, found.attempt) == (job, "mail", "send", "acme", 1)
    assert (found.worker, found.error) == ("me", "no route")
    times = "SELECT run_at, clock_timestamp() - %s < interval '1 minute' FROM turnstile.job"
    assert conn.execute(times, [found.failed_at]).fetchone() == (found.retry_at, True)


def test_each_run_comes_once_and_in_order(conn):
    enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 3)
    for run in runs[:2]:
        fail(conn, run)
    first = failures(conn)
    assert keys(first) == [(run.id, 1) for run in runs[:2]]
    assert first[1].cursor == first[0].cursor + 1
    assert failures(conn, first[-1].cursor) == []
    fail(conn, runs[2])
    assert keys(failures(conn, first[-1].cursor)) == [(runs[2].id, 1)]
    assert keys(failures(conn, first[0].cursor)) == [(run.id, 1) for run in runs[1:]]


def test_what_ends_a_job_or_is_no_failure_is_not_there(conn):
    enqueue_times(conn, 5)
    completed, discarded, released, snoozed, cancelled = claim(conn, ["default"], 5)
    complete(conn, completed)
    discard(conn, discarded)
    release(conn, released)
    snooze(conn, snoozed, "1 hour")
    cancel(conn, cancelled.id)
    fail(conn, cancelled)
    assert failures(conn) == []


def test_the_last_attempt_is_not_there(conn):
    enqueue(conn, max_attempts=2)
    fail(conn, claim_next(conn), retry_in="0")
    fail(conn, claim_next(conn), retry_in="0")
    assert [row.attempt for row in failures(conn)] == [1]


@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
def test_what_is_undone_never_failed(conn, other, end):
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    fail(conn, run)
    assert failures(conn) == [] == failures(other)
    conn.execute(end)
    assert failures(conn) == []
    conn.execute("BEGIN; SAVEPOINT s")
    fail(conn, run)
    conn.execute("RELEASE s")
    assert failures(other) == []
    conn.execute("COMMIT")
    assert keys(failures(conn)) == [(run.id, 1)]


def test_runs_that_are_rescued_are_there(db, conn):
    enqueue_times(conn, 2)
    late = claim_next(conn, lease="1 millisecond")
    lost = db.connect()
    bound = claim_next(lost, bind_to_connection=True)
    terminate(conn, lost.info.backend_pid)
    claim_next(conn)
    found = failures(conn)
    assert sorted((row.id, row.error) for row in found) == [(late.id, "lease expired"), (bound.id, "connection lost")]


def test_a_job_that_has_gone_on_keeps_what_was_said(conn):
    first, second = enqueue_times(conn, 2)
    for run in claim(conn, ["default"], 2):
        fail(conn, run, error=f"of {run.id}")
        retry(conn, run.id)
    again = claim(conn, ["default"], 2)
    complete(conn, again[0])
    found = failures(conn)
    assert [(row.id, row.attempt, row.error, row.retry_at) for row in found] == [
        (first, 1, f"of {first}", None), (second, 1, f"of {second}", None),
    ]  # fmt: skip
    assert [row.queue for row in found] == ["default", "default"]


@pytest.mark.parametrize("errors", ["NULL", "'7'", "'[7, {}]'", """'[{"attempt": "x"}]'"""])
def test_whatever_is_written_into_errors_only_leaves_out_the_error(conn, errors):
    job = enqueue(conn)
    fail(conn, claim_next(conn), error="gone")
    conn.execute(f"UPDATE turnstile.job SET errors = {errors}")
    assert [(row.id, row.queue, row.error) for row in failures(conn)] == [(job, "default", None)]


def test_of_a_job_that_was_deleted_only_the_id_is_known(conn):
    job = enqueue(conn)
    fail(conn, claim_next(conn))
    conn.execute("DELETE FROM turnstile.job")
    [found] = failures(conn)
    assert (found.id, found.attempt, found.queue, found.error) == (job, 1, None, None)


def test_it_has_the_last_ones_and_a_gap_shows_what_it_has_not(conn):
    enqueue(conn)
    fail(conn, claim_next(conn))
    [before] = failures(conn)
    made = enqueue_times(conn, KEPT + 8)
    runs = claim(conn, ["default"], KEPT + 8)
    conn.execute("BEGIN")
    for run in runs:
        fail(conn, run)
    conn.execute("COMMIT")
    found = failures(conn, before.cursor)
    assert ids(found) == made[8:]
    assert found[0].cursor - before.cursor - 1 == 8
    assert failures(conn) == found


def test_a_rebuild_forgets_none(conn):
    enqueue(conn)
    fail(conn, claim_next(conn))
    before = failures(conn)
    conn.execute("SELECT turnstile.rebuild()")
    assert failures(conn) == before


def test_jobs_that_get_the_same_ids_are_not_taken_for_them(conn):
    enqueue(conn, queue="mail")
    fail(conn, claim_next(conn, "mail"))
    [before] = failures(conn)
    conn.execute("TRUNCATE turnstile.job, turnstile.job_history RESTART IDENTITY CASCADE")
    enqueue(conn)
    assert failures(conn) == []
    fail(conn, claim_next(conn))
    [after] = failures(conn)
    assert after.cursor > before.cursor
    assert (after.id, after.queue) == (before.id, "default")


def test_a_cursor_of_another_time_is_no_error(conn):
    enqueue(conn)
    fail(conn, claim_next(conn))
    assert failures(conn, 2**63 - 1) == []
    assert len(failures(conn, -(2**63))) == 1


def test_who_may_not_follow_all_jobs_is_refused(conn, role):
    conn.execute(f"SELECT turnstile.allow_producer('{role}'); GRANT EXECUTE ON FUNCTION turnstile.recent_failures TO {role}; SET ROLE {role}")
    with refused(NO_PRIVILEGE):
        failures(conn)
