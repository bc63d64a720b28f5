"""Jobs whose time comes: scheduled ones and retries are claimed once due, and stall nobody before."""

import pytest

from support import rows
from support.calls import claim_all, claim_next, complete, enqueue, enqueue_times, fail, ids
from support.due import claim_when_due
from support.settings import configure

LATER = "SELECT turnstile.enqueue('later', run_at => clock_timestamp() + %s::interval, tenant => %s)"


def _enqueue_later(conn, ahead: str, tenant: str | None = None) -> int:
    return conn.execute(LATER, [ahead, tenant]).fetchone()[0]


def test_a_scheduled_job_is_claimed_when_due_and_not_before(conn):
    later = _enqueue_later(conn, "1 second")
    assert claim_next(conn) is None
    assert rows.state(conn, later) == "scheduled"
    assert claim_when_due(conn).id == later


def test_a_retry_is_claimed_when_due_and_not_before(conn):
    enqueue(conn)
    run = claim_next(conn)
    fail(conn, run, retry_in="1 second")
    assert claim_next(conn) is None
    again = claim_when_due(conn)
    assert (again.id, again.attempt) == (run.id, 2)


def test_jobs_become_due_each_in_its_time(conn):
    late, soon = _enqueue_later(conn, "1500 milliseconds"), _enqueue_later(conn, "500 milliseconds")
    assert [claim_when_due(conn).id, claim_when_due(conn).id] == [soon, late]


def test_a_job_not_yet_due_stalls_no_other(conn):
    _enqueue_later(conn, "1 hour")
    enqueue(conn, tenant="acme")
    fail(conn, claim_next(conn), retry_in="1 hour")
    plain = [enqueue(conn), enqueue(conn, tenant="acme")]
    assert ids(claim_all(conn)) == plain


def test_a_retry_goes_behind_those_that_waited_meanwhile(conn):
    first, second = enqueue_times(conn, 2)
    fail(conn, claim_next(conn), retry_in="1 millisecond")
    conn.execute("SELECT pg_sleep(0.1)")
    assert ids(claim_all(conn)) == [second, first]


def test_a_due_job_still_needs_a_slot(conn):
    configure(conn, "tenant", "acme", slots=1)
    enqueue(conn, tenant="acme")
    run = claim_next(conn)
    later = _enqueue_later(conn, "10 milliseconds", "acme")
    conn.execute("SELECT pg_sleep(0.1)")
    assert claim_next(conn) is None
    complete(conn, run)
    assert claim_when_due(conn).id == later


def test_a_waiting_retry_holds_no_slot(conn):
    configure(conn, "tenant", "acme", slots=1)
    _, second = enqueue_times(conn, 2, tenant="acme")
    fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn).id == second


def test_many_jobs_due_at_once_all_run(conn):
    conn.execute(
        "SELECT turnstile.enqueue('later', run_at => now() + '300 milliseconds', tenant => 't' || n % 7)"
        " FROM generate_series(1, 500) n"
    )
    claimed = [claim_when_due(conn).id for _ in range(500)]
    assert len(set(claimed)) == 500
    assert claim_next(conn) is None


@pytest.mark.parametrize("state", ["scheduled", "retryable"])
def test_run_at_moved_by_update_counts(conn, state):
    if state == "scheduled":
        job_id = _enqueue_later(conn, "1 hour")
    else:
        job_id = enqueue(conn)
        fail(conn, claim_next(conn), retry_in="1 hour")
    assert claim_next(conn) is None
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + '100 milliseconds' WHERE id = %s", [job_id])
    assert claim_when_due(conn).id == job_id


def test_a_scheduled_job_put_off_again_waits_for_its_new_time(conn):
    job_id = _enqueue_later(conn, "300 milliseconds")
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp() + '1 hour' WHERE id = %s", [job_id])
    conn.execute("SELECT pg_sleep(0.5)")
    assert claim_next(conn) is None


def test_a_deleted_job_never_becomes_due(conn):
    doomed, kept = _enqueue_later(conn, "100 milliseconds"), _enqueue_later(conn, "400 milliseconds")
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [doomed])
    assert claim_when_due(conn).id == kept
    assert claim_next(conn) is None


def test_a_schedule_that_was_rolled_back_never_becomes_due(conn):
    conn.execute("BEGIN")
    _enqueue_later(conn, "10 milliseconds")
    conn.execute("ROLLBACK")
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN")
    fail(conn, run, retry_in="10 milliseconds")
    conn.execute("ROLLBACK")
    conn.execute("SELECT pg_sleep(0.1)")
    assert claim_next(conn) is None
    assert rows.state(conn, run.id) == "running"


def test_a_put_off_job_whose_end_was_rolled_back_still_becomes_due(conn, other):
    """Who sees it as gone, because he has deleted it himself, must not have the claims forget it."""
    later = _enqueue_later(conn, "1 second")
    conn.execute("BEGIN")
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [later])
    conn.execute("SELECT turnstile.promote()")
    conn.execute("ROLLBACK")
    assert claim_when_due(other).id == later


def test_jobs_of_one_instant_are_promoted_in_many_batches(conn):
    conn.execute(
        "INSERT INTO turnstile.job (kind, state, run_at) SELECT 'later', 'scheduled', now() FROM generate_series(1, 2200)"
    )
    enqueue(conn, queue="another queue", run_at="2000-01-01")
    claimed = [claim_when_due(conn).id for _ in range(2200)]
    assert claimed == sorted(claimed), "in order of their positions"


def test_a_claim_promotes_for_its_own_queues_only(conn):
    """Nobody pays for what falls due in another queue."""
    past = "INSERT INTO turnstile.job (kind, queue, state, run_at) VALUES ('due', %s, 'scheduled', '2000-01-01') RETURNING id"
    jobs = {queue: conn.execute(past, [queue]).fetchone()[0] for queue in ("default", "mail", "sms")}
    claim_next(conn, "nothing here")
    assert claim_next(conn, "mail").id == jobs["mail"]
    assert {queue: rows.state(conn, job_id) for queue, job_id in jobs.items()} == {
        "default": "scheduled", "mail": "running", "sms": "scheduled",
    }  # fmt: skip
    assert [claim_next(conn, "*").id for _ in range(2)] == [jobs["default"], jobs["sms"]]
