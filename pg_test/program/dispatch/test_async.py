"""Mode async: 202 hands the run over, and the endpoint says later how it has ended."""

import time
import urllib.error
import urllib.request

import pytest

from support.answers import call_back
from support.calls import call, enqueue
from support.dispatch import OF_THE_PROGRAM, set_endpoint
from support.ended import await_state, counts, errors, result, state
from support.sleepers import until

BOUND = "SELECT owner_pid FROM turnstile.job WHERE id = %s"
LEASE = "SELECT lease_expires_at FROM turnstile.job WHERE id = %s"
PROGRESS = "SELECT * FROM turnstile.jobs WHERE id = %s"


@pytest.fixture
def handed_over(conn, dispatch, endpoints, callbacks):
    """Starts a dispatcher and a job that its endpoint has accepted: both, and the request."""

    def start(*arguments, listens: bool = True, **job):
        set_endpoint(conn, "*", endpoints.url("slow", "/accept"), mode="async")
        where = callbacks if listens else [*callbacks[2:]]
        worker = dispatch(*where, "--heartbeat", "200ms", *arguments)
        added = enqueue(conn, **job)
        until(lambda: endpoints.of(added), "the request has come", worker.stderr)
        until(lambda: conn.execute(BOUND, [added]).fetchone() == (None,), "the run is handed over")
        return worker, added, endpoints.of(added)[0]

    return start


def test_the_request_says_where_to_call_back(conn, handed_over, callbacks):
    _, job, request = handed_over()
    assert request.headers["turnstile-callback"] == f"{callbacks[3]}/runs/{job}/1"
    assert request.headers["turnstile-callback-token"]
    assert state(conn, job) == "running"


def test_complete(conn, handed_over):
    _, job, request = handed_over()
    assert call_back(request, "complete", {"a": 1})[0] // 100 == 2
    assert (state(conn, job), result(conn, job)) == ("completed", {"a": 1})


def test_complete_without_a_result(conn, handed_over):
    _, job, request = handed_over()
    assert call_back(request, "complete")[0] // 100 == 2
    assert (state(conn, job), result(conn, job)) == ("completed", None)


def test_fail(conn, handed_over):
    _, job, request = handed_over()
    assert call_back(request, "fail", {"error": "no such user"})[0] // 100 == 2
    assert (state(conn, job), errors(conn, job)) == ("retryable", ["no such user"])


def test_fail_for_good(conn, handed_over):
    _, job, request = handed_over()
    assert call_back(request, "fail", {"error": "no such user", "discard": True})[0] // 100 == 2
    assert (state(conn, job), errors(conn, job)) == ("discarded", ["no such user"])


def test_heartbeat_and_progress(conn, handed_over):
    _, job, request = handed_over()
    before = conn.execute(LEASE, [job]).fetchone()
    assert call_back(request, "heartbeat")[0] // 100 == 2
    assert conn.execute(LEASE, [job]).fetchone() > before
    assert call_back(request, "progress", {"done": 3, "total": 4, "message": "soon"})[0] // 100 == 2
    assert "soon" in str(conn.execute(PROGRESS, [job]).fetchone())
    assert call_back(request, "complete")[0] // 100 == 2


def test_a_wrong_token_changes_nothing(conn, handed_over):
    _, job, request = handed_over()
    token = request.headers["turnstile-callback-token"]
    for wrong in ["", "x", token[:-1], token + "x", token[:-4] + "AAAA", token.swapcase()]:
        for verb in ["complete", "fail", "heartbeat", "progress"]:
            assert call_back(request, verb, token=wrong)[0] in (401, 403), (verb, wrong)
    assert state(conn, job) == "running"


def test_a_token_is_for_one_run_alone(conn, handed_over, endpoints):
    """Not for another job, nor for the next attempt of the same one."""
    _, job, request = handed_over()
    other = enqueue(conn)
    until(lambda: endpoints.of(other), "another request has come")
    token = request.headers["turnstile-callback-token"]
    assert call_back(endpoints.of(other)[0], "complete", token=token)[0] in (401, 403)
    call(conn, "fail", job_id=job, attempt=1, retry_in="0 seconds")
    until(lambda: len(endpoints.of(job)) == 2, "the next attempt has come")
    assert call_back(endpoints.of(job)[1], "complete", token=token)[0] in (401, 403)
    assert counts(conn) == {"running": 2}


def test_a_run_that_was_lost_is_told_so(conn, handed_over, endpoints):
    _, job, request = handed_over()
    call(conn, "fail", job_id=job, attempt=1)
    for verb in ["complete", "fail", "heartbeat", "progress"]:
        assert call_back(request, verb, {"done": 1} if verb == "progress" else None)[0] in (404, 409, 410), verb
    assert state(conn, job) == "retryable"


def test_complete_again_is_no_other_end(conn, handed_over):
    """As an endpoint does that had no answer the first time."""
    _, job, request = handed_over()
    assert call_back(request, "complete", 1)[0] // 100 == 2
    call_back(request, "complete", 2)
    call_back(request, "fail", {"error": "no"})
    assert (state(conn, job), result(conn, job)) == ("completed", 1)


def test_other_paths_and_bodies_are_refused(handed_over, conn):
    _, job, request = handed_over()
    base = request.headers["turnstile-callback"].rsplit("/runs/", 1)[0]
    token = request.headers["turnstile-callback-token"]
    for path in ["/", "/runs/x/1/complete", f"/runs/{job}/1/cancel", f"/runs/{job}/99999999999/complete", "/v1/jobs"]:
        asked = urllib.request.Request(base + path, b"{}", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=30)
        assert 400 <= refused.value.code < 500, path
    broken = urllib.request.Request(f"{base}/runs/{job}/1/complete", b"{", {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(broken, timeout=30)
    assert 400 <= refused.value.code < 500
    assert state(conn, job) == "running"


def test_the_dispatcher_has_room_for_others_meanwhile(conn, handed_over, endpoints):
    handed_over("--concurrency", 2)
    jobs = [enqueue(conn) for _ in range(10)]
    until(lambda: all(endpoints.of(job) for job in jobs), "all have been sent")
    assert counts(conn) == {"running": 11}


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_the_run_stays_where_the_dispatcher_goes(conn, handed_over, dispatch, callbacks, endpoints, how):
    """Another one with the same key takes the call."""
    worker, job, request = handed_over()
    getattr(worker, how)()
    worker.process.wait(40)
    query = f"SELECT count(*) FROM pg_stat_activity WHERE {OF_THE_PROGRAM}"
    until(lambda: conn.execute(query).fetchone() == (0,), "its connections are gone from the server")
    call(conn, "rescue")
    assert (state(conn, job), len(endpoints.of(job))) == ("running", 1)
    dispatch(*callbacks)

    def is_taken() -> bool:
        try:
            return call_back(request, "complete", "late")[0] // 100 == 2
        except urllib.error.URLError:
            return False

    until(is_taken, "the call is taken")
    assert (state(conn, job), result(conn, job)) == ("completed", "late")


def test_a_call_that_comes_before_the_202_counts(conn, dispatch, endpoints, callbacks):
    set_endpoint(conn, "*", endpoints.url("slow", "/accept_and_complete"), mode="async")
    dispatch(*callbacks)
    job = enqueue(conn, payload={"first": True})
    await_state(conn, job, "completed")
    assert result(conn, job) == {"late": True}
    time.sleep(0.3)
    assert (state(conn, job), len(endpoints.of(job))) == ("completed", 1)


def test_without_a_call_the_lease_ends_the_run(conn, handed_over):
    _, job, _ = handed_over("--lease", "2s")
    await_state(conn, job, "retryable")
    assert errors(conn, job) == ["lease expired"]


@pytest.mark.parametrize("status, ends", [(200, "completed"), (204, "completed"), (500, "retryable")])
def test_other_answers_mean_what_they_always_do(conn, dispatch, endpoints, callbacks, status, ends):
    set_endpoint(conn, "*", endpoints.url(), mode="async")
    dispatch(*callbacks)
    job = enqueue(conn, payload={"how": "status", "status": status})
    await_state(conn, job, ends)


def test_an_async_endpoint_needs_an_address_for_calls(conn, dispatch, endpoints):
    """Without it nobody could call back, and the job would be lost for as long as its lease."""
    set_endpoint(conn, "*", endpoints.url("slow", "/accept"), mode="async")
    job = enqueue(conn)
    worker = dispatch()
    until(lambda: errors(conn, job) or "callback" in worker.stderr(), "it says so", worker.stderr)
    assert endpoints.requests == []
