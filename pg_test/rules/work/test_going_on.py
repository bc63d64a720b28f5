"""complete_and_claim_next and complete_and_claim go on as the run that ends was, where they do not say otherwise."""

from datetime import timedelta

import pytest

from support import rows
from support.calls import call, claim, claim_next, complete_and_claim, complete_and_claim_next, enqueue_times, fail, release
from support.lapse import LOST, errors, until
from support.losses import terminate

MINE = {"worker": "w1", "lease": "3 hours", "bind_to_connection": True}


def length(conn, run) -> timedelta:
    row = rows.live(conn, run.id)
    return row.lease_expires_at - row.claimed_at


def owner(conn, run):
    return rows.live(conn, run.id).owner_pid


def next_one(conn, run, **more):
    return complete_and_claim_next(conn, run, **more)


def next_of_many(conn, run, **more):
    (following,) = complete_and_claim(conn, [run], ["default"], 1, **more)
    return following


each = pytest.mark.parametrize("go_on", [next_one, next_of_many])


@each
def test_worker_lease_and_binding_are_kept(both, go_on):
    enqueue_times(both, 3)
    run = claim_next(both, **MINE)
    for _ in range(2):
        run = go_on(both, run)
        assert rows.live(both, run.id).worker == "w1"
        assert length(both, run) == timedelta(hours=3)
        assert owner(both, run) == both.info.backend_pid


@each
def test_what_is_said_counts(both, go_on):
    enqueue_times(both, 2)
    run = go_on(both, claim_next(both, **MINE), worker="w2", lease="2 hours", bind_to_connection=False)
    row = rows.live(both, run.id)
    assert (row.worker, length(both, run), row.owner_pid) == ("w2", timedelta(hours=2), None)


@each
def test_a_run_that_was_claimed_without_goes_on_without(both, go_on):
    call(both, "set_queue", name="default", lease="20 minutes")
    enqueue_times(both, 2)
    run = go_on(both, claim_next(both))
    row = rows.live(both, run.id)
    assert (row.worker, length(both, run), row.owner_pid) == (None, timedelta(minutes=20), None)


@each
def test_heartbeats_do_not_change_what_is_kept(both, go_on):
    """They move the end of the lease, and may pass another one."""
    enqueue_times(both, 2)
    run = claim_next(both, **MINE)
    call(both, "heartbeat", job_id=run.id, attempt=run.attempt, lease="9 hours")
    assert length(both, go_on(both, run)) == timedelta(hours=3)


def test_a_heartbeat_without_a_lease_extends_by_that_of_the_claim(both):
    enqueue_times(both, 1)
    run = claim_next(both, **MINE)
    both.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp()")
    for beat in ("heartbeat(%s, %s)", "heartbeat_many(ARRAY[%s], ARRAY[%s])"):
        both.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp()")
        before = rows.clock(both)
        both.execute(f"SELECT turnstile.{beat}", [run.id, run.attempt])
        assert rows.live(both, run.id).lease_expires_at >= before + timedelta(hours=3)


@each
def test_what_is_done_through_another_connection_is_bound_to_neither(both, other, go_on):
    """A pool lends any connection, and closes it at any time."""
    enqueue_times(both, 2)
    following = go_on(other, claim_next(both, **MINE))
    assert (rows.live(both, following.id).worker, owner(both, following)) == ("w1", None)


def test_what_is_bound_again_ends_with_the_connection(conn, other):
    enqueue_times(conn, 2)
    following = complete_and_claim_next(other, claim_next(other, **MINE))
    terminate(conn, other.info.backend_pid)
    until(conn, following.id, "retryable", lambda: claim_next(conn, "another queue"))
    assert errors(conn, following.id) == [LOST]


def test_an_unbound_run_stays_unbound(both):
    enqueue_times(both, 2)
    run = claim_next(both, **MINE)
    call(both, "heartbeat", job_id=run.id, attempt=run.attempt, unbind=True)
    assert owner(both, complete_and_claim_next(both, run)) is None


def test_a_repeated_call_goes_on_likewise(both):
    """The answer of the first may have been lost."""
    enqueue_times(both, 3)
    run = claim_next(both, **MINE)
    complete_and_claim_next(both, run)
    again = complete_and_claim_next(both, run)
    assert (rows.live(both, again.id).worker, length(both, again)) == ("w1", timedelta(hours=3))


def test_of_many_runs_the_first_that_completes_counts(both):
    enqueue_times(both, 4)
    stale = claim_next(both, worker="w0", lease="9 hours")
    first, second = claim_next(both, worker="w1", lease="1 hour"), claim_next(both, worker="w2", lease="2 hours")
    fail(both, stale, retry_in="1 hour")
    (run,) = complete_and_claim(both, [second, stale, first], ["default"], 1)
    assert (rows.live(both, run.id).worker, length(both, run)) == ("w1", timedelta(hours=1))
    assert complete_and_claim(both, [], ["default"], 1) == []


def test_the_lease_that_was_asked_for_goes_with_the_run(both):
    enqueue_times(both, 1)
    for end in (release, lambda conn, run: fail(conn, run, retry_in="1 hour")):
        run = claim(both, ["default"], 1, lease="3 hours")[0]
        assert rows.live(both, run.id).lease == timedelta(hours=3)
        end(both, run)
        assert rows.live(both, run.id).lease is None


@pytest.mark.parametrize("nonsense", ["-1 day", "0", "1000 years"])
def test_a_lease_that_was_set_by_hand_and_is_none_is_not_kept(both, nonsense):
    enqueue_times(both, 2)
    run = claim_next(both, **MINE)
    both.execute("UPDATE turnstile.job SET lease = %s WHERE id = %s", [nonsense, run.id])
    assert length(both, complete_and_claim_next(both, run)) == timedelta(minutes=5)
