"""Calls about many runs: each run is treated as the call about one would treat it, and those that are gone harm no other."""

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from support.attempt import Attempt
from support.calls import call, cancel, claim, complete, complete_and_claim, enqueue_times, many
from support.rows import finished, state
from support.settings import configure


@pytest.fixture
def runs(conn):
    enqueue_times(conn, 5)
    return claim(conn, ["default"], 5)


@pytest.fixture
def held(conn, other, runs):
    """Two of the runs, whose jobs an open transaction has changed."""
    other.execute("BEGIN")
    for run in runs[:2]:
        call(other, "reprioritize", job_id=run.id, priority=3)
    conn.execute("SET lock_timeout = '20s'")
    return runs[:2]


def _stale(run):
    return run._replace(attempt=run.attempt + 1)


def _lease(conn, run):
    return conn.execute("SELECT lease_expires_at FROM turnstile.job WHERE id = %s", [run.id]).fetchone()[0]


def _last_error(conn, run):
    return conn.execute("SELECT errors -> -1 ->> 'error' FROM turnstile.jobs WHERE id = %s", [run.id]).fetchone()[0]


def _wait(conn, run) -> timedelta:
    return conn.execute("SELECT run_at - clock_timestamp() FROM turnstile.job WHERE id = %s", [run.id]).fetchone()[0]


def test_each_result_stays_with_its_run(conn, runs):
    given = [Jsonb({"number": 1}), None, Jsonb([3]), Jsonb(None), Jsonb("x" * 5_000)]
    assert many(conn, "complete_many", runs[::-1], results=given[::-1]) == [(5,)]
    assert [finished(conn, run.id).result for run in runs] == [{"number": 1}, None, [3], None, "x" * 5_000]


def test_of_a_run_that_is_named_twice_the_first_result_counts(conn, runs):
    first = runs[0]
    assert many(conn, "complete_many", [first, first], results=[Jsonb(1), Jsonb(2)]) == [(1,)]
    assert finished(conn, first.id).result == 1


def test_a_result_stays_with_its_run_without_direct_writes(conn, runs):
    conn.execute("CREATE RULE watch AS ON DELETE TO turnstile.job DO ALSO SELECT 1")
    conn.execute("DROP RULE watch ON turnstile.job")
    conn.execute("ALTER TABLE turnstile.job ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    conn.execute("CREATE POLICY all_rows ON turnstile.job USING (true)")
    assert many(conn, "complete_many", runs, results=[Jsonb(number) for number in range(5)]) == [(5,)]
    assert [finished(conn, run.id).result for run in runs] == list(range(5))


def test_a_claim_completes_with_results(conn, runs):
    enqueue_times(conn, 1)
    assert len(complete_and_claim(conn, runs, ["default"], 9, results=[Jsonb(run.id) for run in runs])) == 1
    assert [finished(conn, run.id).result for run in runs] == [run.id for run in runs]


def test_a_result_that_is_too_long_is_refused_with_all_others(conn, runs):
    conn.execute("SET turnstile.max_payload = '1kB'")
    with pytest.raises(Exception, match="results is over turnstile.max_payload") as refused:
        many(conn, "complete_many", runs[:2], results=[Jsonb(1), Jsonb("x" * 2_000)])
    assert refused.value.sqlstate == "54000"
    assert state(conn, runs[0].id) == "running"


def test_each_run_fails_in_its_own_way(conn, runs):
    hour = timedelta(hours=1)
    configure(conn, "queue", "*", retry_base="1 minute")
    arguments = {"errors": ["a", None, "c", "d", "e"], "retry_in": [hour, None, None, hour, hour], "discard": [None, False, True, None, True]}
    cancel(conn, runs[3].id)
    assert many(conn, "fail_many", runs, **arguments) == [(5,)]
    assert [state(conn, run.id) for run in runs] == ["retryable", "retryable", "discarded", "cancelled", "discarded"]
    assert [_last_error(conn, run) for run in runs] == ["a", None, "c", "d", "e"]
    assert hour - timedelta(minutes=1) < _wait(conn, runs[0]) <= hour
    assert timedelta(seconds=30) < _wait(conn, runs[1]) < timedelta(seconds=70)


def test_what_has_ended_or_goes_on_elsewhere_is_left_alone(conn, runs):
    complete(conn, runs[0])
    named = [runs[0], _stale(runs[1]), runs[2]._replace(id=987_654_321), runs[3], runs[3]]
    assert [row.status for row in many(conn, "heartbeat_many", named)] == ["lost", "lost", "lost", "running", "running"]
    assert many(conn, "fail_many", named) == [(1,)]
    assert [state(conn, run.id) for run in runs] == ["completed", "running", "running", "retryable", "running"]


def test_heartbeats_come_in_order_and_tell_of_cancellation(conn, runs):
    before = [_lease(conn, run) for run in runs]
    cancel(conn, runs[1].id)
    told = many(conn, "heartbeat_many", runs[::-1], lease="1 day")
    assert [(row.ord, row.job_id) for row in told] == [(ord, run.id) for ord, run in enumerate(runs[::-1], 1)]
    assert [row.status for row in told] == ["running", "running", "running", "cancel_requested", "running"]
    assert all(_lease(conn, run) > lease + timedelta(hours=20) for run, lease in zip(runs, before, strict=True))


def test_a_lease_is_that_of_the_queue_of_each_run(conn):
    configure(conn, "queue", "*", lease="1 hour")
    configure(conn, "queue", "slow", lease="1 day")
    runs = []
    for queue in ("default", "slow"):
        enqueue_times(conn, 1, queue=queue)
        runs += claim(conn, [queue], 1)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp()")
    many(conn, "heartbeat_many", runs)
    short, long = (_lease(conn, run) for run in runs)
    assert timedelta(hours=22) < long - short < timedelta(hours=24)


def test_a_heartbeat_takes_the_connection_from_many_runs(db, conn):
    worker = db.connect()
    enqueue_times(conn, 2)
    runs = claim(worker, ["default"], 2, bind_to_connection=True)
    many(conn, "heartbeat_many", runs, unbind=True)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE owner_pid IS NOT NULL").fetchone() == (0,)


def test_a_rollback_takes_all_back(conn, runs):
    with conn.transaction() as whole:
        with conn.transaction(force_rollback=True):
            many(conn, "fail_many", runs[:2])
            many(conn, "complete_many", runs[2:], results=[None] * 3)
        assert [state(conn, run.id) for run in runs] == ["running"] * 5
        del whole
    assert many(conn, "complete_many", runs) == [(5,)]


def test_two_calls_in_opposite_order_do_not_deadlock(db, conn, runs):
    other = db.connect(autocommit=False)
    assert many(other, "fail_many", runs[:3][::-1]) == [(3,)]
    conn.execute("SET lock_timeout = '200ms'")
    with pytest.raises(Exception) as waits:
        many(conn, "complete_many", runs)
    assert waits.value.sqlstate == "55P03"
    # They may still fail to end.
    assert [row.status for row in many(conn, "heartbeat_many", runs)] == ["running"] * 5
    other.commit()
    assert [row.status for row in many(conn, "heartbeat_many", runs)] == ["lost"] * 3 + ["running"] * 2


def test_a_trigger_that_keeps_a_heartbeat_back_is_told(conn, runs):
    conn.execute("CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    conn.execute("CREATE TRIGGER no BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION no()")
    for verb in ("heartbeat_many", "fail_many"):
        with pytest.raises(Exception) as told:
            many(conn, verb, runs)
        assert told.value.sqlstate == "09000", verb


def test_a_worker_is_told_how_many_attempts_are_left(conn):
    enqueue_times(conn, 1, max_attempts=3)
    left = []
    for _ in range(3):
        [run] = claim(conn, ["default"], 1)
        left.append(run.attempts_left)
        many(conn, "fail_many", [run], retry_in=[timedelta(0)])
        conn.execute("SELECT turnstile.promote()")
    assert left == [2, 1, 0]
    assert state(conn, run.id) == "discarded"
    conn.execute("SELECT turnstile.retry(%s)", [run.id])
    [run] = claim(conn, ["default"], 1)
    assert (run.attempt, run.attempts_left) == (4, 2)


def test_runs_that_others_have_locked_keep_no_others_waiting(conn, other, runs, held):
    before = {run.id: _lease(conn, run) for run in runs}
    cancel(conn, runs[3].id)
    named = [*runs, _stale(runs[4])]
    told = [row.status for row in many(conn, "heartbeat_many", named, lease="1 day")]
    assert told == ["running"] * 3 + ["cancel_requested", "running", "lost"]
    assert [run.id for run in runs if _lease(conn, run) > before[run.id]] == [run.id for run in runs[2:]]
    other.execute("COMMIT")
    many(conn, "heartbeat_many", runs, lease="1 day")
    assert all(_lease(conn, run) > before[run.id] for run in runs)


@pytest.mark.parametrize("arguments", [{"unbind": True}, {}], ids=["the connection is taken", "there are no others"])
def test_they_are_waited_for(db, conn, other, runs, held, arguments):
    attempt = Attempt(lambda: many(conn, "heartbeat_many", runs if arguments else held, lease="1 day", **arguments))
    attempt.given_time(db.connect(), conn.info.backend_pid)
    assert attempt.is_alive()
    other.execute("COMMIT")
    assert {row.status for row in attempt.decided().made} == {"running"}


def test_who_waits_for_a_run_holds_no_other(db, conn, other, runs):
    other.execute("BEGIN")
    complete(other, runs[0])
    attempt = Attempt(lambda: many(conn, "heartbeat_many", runs[:2], unbind=True))
    attempt.given_time(db.connect(), conn.info.backend_pid)
    complete(other, runs[1])
    other.execute("COMMIT")
    assert [row.status for row in attempt.decided().made] == ["lost", "lost"]
