"""Leases: a run whose lease has ended is failed by the next claim from its queue, like any other failure."""

import pytest

from support import rows
from support.calls import call, claim, claim_all, claim_next, complete, enqueue, enqueue_times, fail, ids, release
from support.due import claim_when_due
from support.errors import WRONG_STATE, refused
from support.lapse import EXPIRED, errors, let_lease_end, until
from support.settings import configure, unconfigure


def _rescue(conn, *bound) -> int:
    return conn.execute(f"SELECT turnstile.rescue({', '.join(map(str, bound))})").fetchone()[0]


def test_a_live_queue_rescues_by_itself(conn):
    enqueue(conn)
    run = claim_next(conn, lease="100 milliseconds")
    until(conn, run.id, "retryable", lambda: claim_next(conn))
    row = rows.live(conn, run.id)
    assert errors(conn, run.id) == [EXPIRED]
    assert (row.worker, row.claimed_at, row.lease_expires_at) == (None, None, None)


def test_a_run_under_its_lease_is_left_alone(conn):
    enqueue(conn)
    run = claim_next(conn)
    assert claim_next(conn) is None
    assert _rescue(conn) == 0
    assert complete(conn, run)


def test_a_run_without_a_lease_is_never_rescued(conn):
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = NULL")
    claim_next(conn)
    assert _rescue(conn) == 0
    assert complete(conn, run)


def test_the_lease_is_that_of_the_queue_or_of_the_default_row(conn, other):
    def minutes(queue):
        enqueue(conn, queue=queue)
        run = rows.live(conn, claim_next(conn, queue).id)
        return round((run.lease_expires_at - run.claimed_at).total_seconds() / 60)

    configure(other, "queue", "*", lease="10 minutes")
    configure(other, "queue", "own", lease="20 minutes")
    assert [minutes(queue) for queue in ("a", "b", "own")] == [10, 10, 20]
    configure(other, "queue", "*", lease="30 minutes")
    assert [minutes(queue) for queue in ("a", "b", "own")] == [30, 30, 20]
    configure(other, "queue", "a", lease="40 minutes")
    unconfigure(other, "queue", "own")
    assert [minutes(queue) for queue in ("a", "b", "own")] == [40, 30, 30]


def test_the_error_names_attempt_time_and_worker(conn):
    enqueue(conn)
    run = claim_next(conn, worker="w1")
    let_lease_end(conn, run)
    before = rows.clock(conn)
    assert _rescue(conn) == 1
    [entry] = rows.live(conn, run.id).errors
    assert (entry["attempt"], entry["worker"], entry["error"]) == (1, "w1", EXPIRED)
    assert conn.execute("SELECT %s::timestamptz >= %s", [entry["at"], before]).fetchone()[0]


def test_a_rescued_run_is_superseded(conn):
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    claim_next(conn)
    before = rows.everything(conn)
    for late in (complete, fail, release):
        with refused(WRONG_STATE):
            late(conn, run)
    assert rows.everything(conn) == before


def test_the_queues_backoff_holds_for_a_rescued_run(conn):
    configure(conn, "queue", "default", retry_base="1 hour")
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    assert _rescue(conn) == 1
    wait = conn.execute("SELECT run_at - clock_timestamp() FROM turnstile.job").fetchone()[0]
    assert 3590 < wait.total_seconds() <= 3960


def test_after_max_attempts_it_is_discarded(conn):
    enqueue(conn, max_attempts=1)
    run = claim_next(conn)
    let_lease_end(conn, run)
    assert claim_next(conn) is None
    row = rows.finished(conn, run.id)
    assert (row.state, [entry["error"] for entry in row.errors]) == ("discarded", [EXPIRED])


def test_its_slot_goes_to_the_next_at_once(conn):
    configure(conn, "tenant", "acme", slots=1)
    first, second = enqueue_times(conn, 2, tenant="acme")
    run = claim_next(conn)
    assert claim_next(conn) is None
    let_lease_end(conn, run)
    assert (run.id, claim_next(conn).id) == (first, second)


def test_under_hold_its_session_waits_for_it(conn):
    first, _ = enqueue_times(conn, 2, session="chat-1")
    let_lease_end(conn, claim_next(conn))
    assert claim_next(conn) is None
    assert rows.live(conn, first).holds_session
    assert claim_when_due(conn).id == first


def test_under_pass_its_session_goes_on(conn):
    configure(conn, "queue", "default", session_on_retry="pass")
    _, second = enqueue_times(conn, 2, session="chat-1")
    let_lease_end(conn, claim_next(conn))
    assert claim_next(conn).id == second


def test_a_lease_that_is_cut_short_counts(conn, other):
    """Also one that ends before all that the claims know of."""
    enqueue_times(conn, 3)
    runs = claim_all(conn)
    claim_next(other)
    let_lease_end(conn, runs[2])
    claim_next(other)
    assert [rows.state(conn, run.id) for run in runs] == ["running", "running", "retryable"]


def test_a_longer_lease_that_was_rolled_back_does_not_count(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    conn.execute("BEGIN; UPDATE turnstile.job SET lease_expires_at = clock_timestamp() + interval '1 hour'")
    claim_next(other)
    assert rows.state(other, run.id) == "running", "nobody waits for a locked run"
    conn.execute("ROLLBACK")
    claim_next(other)
    assert rows.state(other, run.id) == "retryable"


def test_an_end_that_was_rolled_back_leaves_the_run_to_be_rescued(conn, other):
    """Who sees the end as done, because it is his own, must not forget the lease."""
    enqueue(conn)
    run = claim_next(conn)
    conn.execute("BEGIN")
    complete(conn, run)
    let_lease_end(other, *enqueue_and_claim(other))
    claim_next(conn, "mail")
    claim_next(conn)
    conn.execute("ROLLBACK")
    let_lease_end(conn, run)
    claim_next(conn)
    assert rows.state(conn, run.id) == "retryable"


def enqueue_and_claim(conn):
    enqueue(conn, queue="mail")
    return [claim_next(conn, "mail")]


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE"])
def test_a_run_that_another_session_has_locked_is_rescued_later(conn, other, lock):
    enqueue_times(conn, 2)
    locked, free = claim_all(conn)
    let_lease_end(conn, locked, free)
    other.execute(f"BEGIN; SELECT 1 FROM turnstile.job WHERE id = {locked.id} {lock}")
    until(conn, free.id, "retryable", lambda: claim_next(conn))
    assert rows.state(conn, locked.id) == "running"
    other.execute("COMMIT")
    until(conn, locked.id, "retryable", lambda: claim_next(conn))


def test_more_locked_runs_than_are_remembered_one_by_one(conn, other):
    enqueue_times(conn, 150)
    runs = claim(conn, ["default"], 150)
    let_lease_end(conn, *runs)
    other.execute("BEGIN; SELECT 1 FROM turnstile.job FOR UPDATE")
    for _ in range(3):
        claim_next(conn)
        conn.execute("SELECT pg_sleep(0.11)")
    assert rows.counts(conn) == {"running": 150}
    other.execute("COMMIT")
    assert _rescue(conn) == 150


def test_many_runs_at_once_in_bounded_batches(conn):
    enqueue_times(conn, 450)
    runs = claim(conn, ["default"], 450)
    let_lease_end(conn, *runs)
    claim_next(conn)
    assert 0 < rows.counts(conn)["retryable"] < 450, "one claim does not take all upon itself"
    for _ in range(3):
        claim_next(conn)
    assert rows.counts(conn) == {"retryable": 450}


def test_a_claim_in_a_transaction_block_rescues_little_and_of_its_own_queues(conn, other):
    for queue in ("default", "mail"):
        enqueue_times(conn, 5, queue=queue)
    runs = claim(conn, ["default", "mail"], 10)
    let_lease_end(conn, *runs)
    conn.execute("BEGIN")
    claim(conn, ["default"], 2)
    assert rows.counts(conn) == {"running": 8, "retryable": 2}
    other_before = rows.counts(other)
    claim(other, ["mail"], 1)
    until(other, runs[9].id, "retryable", lambda: claim(other, ["mail"], 1))
    assert (other_before, rows.counts(other)) == ({"running": 10}, {"running": 5, "retryable": 5})
    conn.execute("ROLLBACK")
    until(other, runs[0].id, "retryable", lambda: claim(other, ["default"], 1))
    assert rows.counts(other) == {"retryable": 10}


def test_a_claim_rescues_for_its_own_queues_only(conn):
    """Nobody pays for what another queue's workers have left behind."""
    for queue in ("default", "mail", "sms"):
        enqueue(conn, queue=queue)
    runs = {run.queue: run.id for run in claim(conn, ["default", "mail", "sms"], 3)}
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 second'")
    claim_next(conn, "nothing here")
    claim(conn, ["mail", "sms"], 1)
    states = {queue: rows.state(conn, job_id) for queue, job_id in runs.items()}
    assert states == {"default": "running", "mail": "retryable", "sms": "retryable"}
    claim(conn, ["*"], 1)
    assert rows.state(conn, runs["default"]) == "retryable"


def test_a_rescue_that_was_rolled_back_is_done_again(conn, other):
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    conn.execute("BEGIN; SAVEPOINT s")
    claim_next(conn)
    assert rows.state(conn, run.id) == "retryable"
    conn.execute("ROLLBACK TO s")
    assert rows.state(conn, run.id) == "running"
    conn.execute("COMMIT")
    claim_next(other)
    assert rows.state(conn, run.id) == "retryable"


def test_a_claim_that_commits_after_its_lease_is_rescued(conn, other):
    enqueue(conn)
    conn.execute("BEGIN")
    run = claim_next(conn, lease="1 millisecond")
    claim_next(other)
    conn.execute("COMMIT")
    until(conn, run.id, "retryable", lambda: claim_next(other))


def test_expired_leases_are_found_after_a_rebuild(conn):
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    conn.execute("SELECT turnstile.rebuild()")
    claim_next(conn)
    assert rows.state(conn, run.id) == "retryable"


@pytest.mark.parametrize("column, value", [
    ("errors", '{"not": "an array"}'), ("errors", "7"), ("errors", "null"), ("attempt", "1000000"),
    ("uncounted", "1000000"), ("max_attempts", "1"), ("lease_expires_at", "-infinity"),
])  # fmt: skip
def test_a_strange_row_does_not_stop_the_rescue(conn, column, value):
    enqueue_times(conn, 2)
    runs = claim_all(conn)
    let_lease_end(conn, *runs)
    conn.execute(f"UPDATE turnstile.job SET {column} = %s WHERE id = %s", [value, runs[0].id])
    claim_next(conn)
    assert rows.state(conn, runs[0].id) in ("retryable", "discarded")
    assert rows.state(conn, runs[1].id) == "retryable"


@pytest.mark.parametrize("settings", [
    {"retry_base": "100000 years"}, {"retry_base": "100000 years", "retry_cap": "100000 years"}, {"retry_base": "0"},
    {"retry_cap": "0"},
])  # fmt: skip
def test_strange_settings_do_not_stop_the_rescue(conn, settings):
    configure(conn, "queue", "default", **settings)
    enqueue(conn)
    run = claim_next(conn)
    let_lease_end(conn, run)
    assert _rescue(conn) == 1
    assert rows.state(conn, run.id) in ("retryable", "available")


def test_rescue_and_promote_count_and_are_bounded(conn):
    enqueue_times(conn, 5)
    runs = claim_all(conn)
    let_lease_end(conn, *runs)
    assert [_rescue(conn, 2), _rescue(conn, 0), _rescue(conn), _rescue(conn)] == [2, 0, 3, 0]
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp()")
    promoted = [call(conn, "promote", max_jobs=most)[0][0] for most in (2, 0, 10, 10)]
    assert promoted == [2, 0, 3, 0]
    assert sorted(ids(claim_all(conn))) == sorted(ids(runs))


def test_a_job_of_all_possible_attempts_can_be_claimed_after_a_release(conn):
    enqueue(conn, max_attempts=2**31 - 1)
    release(conn, claim_next(conn))
    assert claim_next(conn).max_attempts == 2**31 - 1
