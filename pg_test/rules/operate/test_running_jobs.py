"""running_jobs() gives what runs, whatever began, moved or ended it."""

import pytest

from support.calls import call, cancel, claim, claim_next, complete, complete_many, enqueue, enqueue_times, fail, release, snooze
from support.errors import BAD_VALUE, refused


def _running(conn, **arguments) -> set[tuple[int, int]]:
    return {tuple(row) for row in call(conn, "running_jobs", **arguments)}


def _runs(jobs) -> set[tuple[int, int]]:
    return {(job.id, job.attempt) for job in jobs}


def test_those_of_a_queue_or_of_all(conn):
    for queue in ("mail", "sms"):
        enqueue_times(conn, 3, queue=queue)
    assert _running(conn) == set()
    mail, sms = claim(conn, ["mail"], 2), claim(conn, ["sms"], 2)
    assert _running(conn) == _runs(mail) | _runs(sms)
    assert _running(conn, queue="mail") == _runs(mail)
    assert _running(conn, queue="none") == set()
    assert len(_running(conn, max_jobs=3)) == 3
    assert len(_running(conn, queue="sms", max_jobs=1)) == 1


@pytest.mark.parametrize("end", [complete, fail, release, lambda conn, run: snooze(conn, run, "1 hour")])
def test_a_run_that_has_ended_is_gone(conn, end):
    enqueue_times(conn, 2)
    ended, other = claim(conn, ["default"], 2)
    end(conn, ended)
    assert _running(conn) == _runs([other])


def test_runs_that_ended_together_are_gone(conn):
    enqueue_times(conn, 50)
    runs = claim(conn, ["default"], 50)
    complete_many(conn, runs[:30])
    assert _running(conn) == _runs(runs[30:])
    conn.execute("DELETE FROM turnstile.job")
    assert _running(conn) == set()


def test_a_job_that_never_ran_is_none(conn):
    cancel(conn, enqueue(conn))
    enqueue(conn)
    assert _running(conn) == set()


@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK TO s; COMMIT"])
def test_what_was_rolled_back_has_not_happened(conn, end):
    enqueue_times(conn, 2)
    run = claim_next(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    claim_next(conn)
    complete(conn, run)
    conn.execute(end)
    assert _running(conn) == _runs([run])


CHANGES = {
    "without a lease": ("lease_expires_at = NULL", "default", 1),
    "another queue": ("queue = 'mail'", "mail", 1),
    "another attempt": ("attempt = 7", "default", 7),
    "another tenant": ("tenant = 'acme'", "default", 1),
    "the same": ("worker = 'w'", "default", 1),
}


@pytest.mark.parametrize(("change", "queue", "attempt"), CHANGES.values(), ids=CHANGES.keys())
def test_a_run_that_was_changed_by_hand(conn, change, queue, attempt):
    enqueue(conn)
    run = claim_next(conn)
    conn.execute(f"UPDATE turnstile.job SET {change}")
    assert _running(conn) == _running(conn, queue=queue) == {(run.id, attempt)}
    conn.execute("SELECT turnstile.rebuild()")
    assert _running(conn) == _running(conn, queue=queue) == {(run.id, attempt)}
    conn.execute("UPDATE turnstile.job SET state = 'available'")
    assert _running(conn) == set()


def test_another_id_and_a_run_begun_by_hand(conn):
    enqueue(conn)
    conn.execute("UPDATE turnstile.job SET state = 'running', attempt = 3")
    conn.execute("UPDATE turnstile.job SET id = 4711")
    assert _running(conn) == {(4711, 3)}


def test_the_bound_is_checked(conn):
    with refused(BAD_VALUE):
        _running(conn, max_jobs=-1)
    assert _running(conn, max_jobs=2**31 - 1) == set()
