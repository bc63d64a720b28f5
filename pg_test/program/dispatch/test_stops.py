"""How a dispatcher ends: drained by SIGTERM, killed, cut off from the server; and how long a request may last."""

import signal

import pytest

from support.calls import call, enqueue, enqueue_many
from support.dispatch import OF_THE_PROGRAM, set_endpoint
from support.ended import await_counts, await_state, counts, errors, state
from support.pgbouncer import pgbouncer
from support.sleepers import await_asleep, until

LOSE_ALL = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}"


def test_who_sleeps_goes_at_once(conn, dispatch, endpoints):
    worker = dispatch("--grace", "1h")
    await_asleep(conn, 1)
    worker.terminate()
    assert worker.ended()[0] == 0


def test_a_hang_up_is_a_soft_stop(conn, dispatch, endpoints, hang_ups):
    hang_ups(signal.SIG_DFL)
    worker = dispatch()
    await_asleep(conn, 1)
    worker.signal(signal.SIGHUP)
    status, said = worker.ended()
    assert (status, "drains" in said) == (0, True)


def test_requests_under_way_have_their_time(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("slow", "/held"))
    first = enqueue(conn)
    worker = dispatch("--grace", "1h")
    until(lambda: endpoints.of(first), "the request has come")
    worker.terminate()
    until(lambda: "drain" in worker.stderr(), "it has got the signal", worker.stderr)
    second = enqueue(conn)
    endpoints.release()
    assert worker.ended()[0] == 0
    assert (state(conn, first), state(conn, second)) == ("completed", "available")


@pytest.mark.parametrize("again", [False, True], ids=["grace", "second signal"])
def test_what_was_sent_fails_when_the_grace_is_over(conn, dispatch, endpoints, again):
    """Nobody knows whether the endpoint has done it. The attempt counts."""
    set_endpoint(conn, "*", endpoints.url("slow", "/never"))
    job = enqueue(conn)
    worker = dispatch("--grace", "1h" if again else "500ms")
    until(lambda: endpoints.of(job), "the request has come")
    worker.terminate()
    if again:
        until(lambda: "drain" in worker.stderr(), "it has got the signal", worker.stderr)
        worker.terminate()
    assert worker.ended()[0] == 0
    assert (state(conn, job), len(errors(conn, job))) == ("retryable", 1)
    assert conn.execute("SELECT attempt FROM turnstile.jobs").fetchone() == (1,)


def test_what_was_not_sent_is_given_back(conn, dispatch, endpoints):
    """No connection to an address that nobody answers at: nothing was sent. No attempt counts."""
    set_endpoint(conn, "*", "http://198.51.100.1:9/")
    job = enqueue(conn)
    worker = dispatch("--grace", "500ms")
    await_state(conn, job, "running")
    worker.terminate()
    status, said = worker.ended()
    assert status == 0
    # Where the network says at once that nobody is there, it has failed before.
    if "198.51.100.1" not in said or state(conn, job) == "available":
        assert (state(conn, job), errors(conn, job)) == ("available", [])


def test_a_drain_counts_and_loses_nothing(conn, dispatch, endpoints):
    """Told to end in the middle of much work: each job was done, waits, or has failed once, and none is left running."""
    set_endpoint(conn, "*", endpoints.url("slow"))
    endpoints.seconds = 0.05
    enqueue_many(conn, [{"kind": "work"}] * 2000)
    worker = dispatch("--concurrency", 50, "--grace", "30s")
    until(lambda: len(endpoints.requests) > 200, "it is in the middle of it")
    worker.terminate()
    assert worker.ended()[0] == 0
    done = counts(conn)
    assert set(done) <= {"completed", "available"} and sum(done.values()) == 2000
    assert done["completed"] == len(endpoints.requests)
    query = "SELECT count(*) FROM turnstile.jobs WHERE state = 'available' AND errors IS NOT NULL AND errors <> '[]'"
    assert conn.execute(query).fetchone() == (0,)


# ---- Killed ---------------------------------------------------------------------------------------


def test_the_jobs_of_a_killed_dispatcher_run_again_at_once(conn, dispatch, endpoints):
    """Long before their leases are over: the server sees that the connection is gone."""
    call(conn, "set_queue", name="*", retry_base="0 seconds", retry_cap="0 seconds")
    set_endpoint(conn, "*", endpoints.url("slow", "/held"), trial_after=0)
    enqueue_many(conn, [{"kind": "work"}] * 20)
    first = dispatch("--lease", "1h")
    until(lambda: endpoints.in_flight("slow") == 20, "all are under way")
    second = dispatch("--lease", "1h")
    await_asleep(conn, 1)
    first.kill()
    until(lambda: len(endpoints.requests) == 40, "all have been sent again", second.stderr)
    endpoints.release()
    await_counts(conn, completed=20)
    assert {request.attempt for request in endpoints.requests[20:]} == {2}


def test_with_unbound_runs_a_lost_connection_costs_no_run(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("slow", "/held"))
    enqueue_many(conn, [{"kind": "work"}] * 5)
    worker = dispatch("--unbound", "--lease", "1h")
    until(lambda: endpoints.in_flight("slow") == 5, "all are under way")
    conn.execute(LOSE_ALL)
    until(lambda: "connected to the server again" in worker.stderr(), "it goes on", worker.stderr)
    endpoints.release()
    await_counts(conn, completed=5)
    assert len(endpoints.requests) == 5


def test_through_a_pooler(db, conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("slow"))
    endpoints.seconds = 0.01
    with pgbouncer(db.name) as pooler:
        where = f"host=127.0.0.1 port={pooler.port} dbname={db.name}"
        workers = [dispatch("--unbound", "--concurrency", 20, database=where) for _ in range(2)]
        enqueue_many(conn, [{"kind": "work"}] * 300)
        await_counts(conn, completed=300)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            assert worker.ended()[0] == 0
    assert len(endpoints.requests) == 300


def test_connections_that_are_lost_come_back(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url())
    worker = dispatch()
    await_asleep(conn, 1)
    conn.execute(LOSE_ALL)
    job = enqueue(conn)
    await_state(conn, job, "completed")
    assert "lost" in worker.stderr()


def test_a_cancelled_job_ends_its_request(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("slow", "/never"))
    job = enqueue(conn)
    dispatch("--heartbeat", "100ms")
    until(lambda: endpoints.of(job), "the request has come")
    call(conn, "cancel", job_id=job)
    await_state(conn, job, "cancelled")
    until(lambda: endpoints.of(job)[0].lost, "the connection is closed")


# ---- Deadlines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["never", "trickle", "trickle_head"])
def test_a_request_ends_after_the_timeout_of_its_endpoint(conn, dispatch, endpoints, how):
    """However diligently bytes come."""
    set_endpoint(conn, "*", endpoints.url("failing"), timeout="1 second", keep_response=True)
    job = enqueue(conn, payload={"how": how})
    dispatch()
    await_state(conn, job, "retryable")
    assert errors(conn, job) != []
    until(lambda: endpoints.of(job)[0].lost, "the connection is closed")


@pytest.mark.parametrize("timeout", [None, "1 hour"])
def test_a_request_never_lasts_longer_than_the_lease(conn, dispatch, endpoints, timeout):
    """It is the dispatcher that ends it, so the server never finds a run whose lease is over."""
    set_endpoint(conn, "*", endpoints.url("failing"), timeout=timeout)
    job = enqueue(conn, payload={"how": "never"})
    dispatch("--lease", "2s")
    await_state(conn, job, "retryable")
    assert errors(conn, job) != ["lease expired"]
    request = endpoints.of(job)[0]
    until(lambda: request.lost, "the connection is closed")


def test_a_server_that_does_not_answer_lets_no_lease_pass_unnoticed(conn, dispatch, endpoints):
    """The program stands still until its lease is over: it may say nothing about the run then."""
    set_endpoint(conn, "*", endpoints.url("slow", "/held"))
    job = enqueue(conn)
    worker = dispatch("--unbound", "--lease", "2s", "--heartbeat", "500ms")
    until(lambda: endpoints.of(job), "the request has come")
    worker.signal(signal.SIGSTOP)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute'")
    call(conn, "rescue")
    endpoints.release()
    worker.signal(signal.SIGCONT)
    worker.terminate()
    assert worker.ended()[0] == 0
    assert (state(conn, job), errors(conn, job)) == ("retryable", ["lease expired"])
