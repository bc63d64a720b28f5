"""What each answer of an endpoint makes of the run: completed, failed, discarded, and when it is due again."""

import pytest

from support.calls import call, claim_next, enqueue, enqueue_many
from support.dispatch import set_endpoint
from support.ended import await_counts, await_state, error_classes, errors, result, state
from support.sleepers import await_asleep, until

DUE = "SELECT extract(epoch FROM run_at - clock_timestamp()) FROM turnstile.jobs WHERE id = %s"
HOUR, DAY = 3600, 24 * 3600


def due(conn, job: int) -> float:
    """In so many seconds."""
    return float(conn.execute(DUE, [job]).fetchone()[0])


@pytest.mark.parametrize(
    "payload, ends, told",
    [
        ({"how": "fast"}, "completed", None),
        ({"how": "slow"}, "completed", None),
        ({"how": "status", "status": 200}, "completed", None),
        ({"how": "status", "status": 201}, "completed", None),
        ({"how": "status", "status": 202}, "completed", None),
        ({"how": "status", "status": 299}, "completed", None),
        ({"how": "status", "status": 400}, "retryable", "400"),
        ({"how": "status", "status": 401}, "retryable", "401"),
        ({"how": "status", "status": 404}, "retryable", "404"),
        ({"how": "status", "status": 408}, "retryable", "408"),
        ({"how": "status", "status": 425}, "retryable", "425"),
        ({"how": "status", "status": 429}, "retryable", "429"),
        ({"how": "status", "status": 500}, "retryable", "500"),
        ({"how": "status", "status": 503}, "retryable", "503"),
        ({"how": "status", "status": 599}, "retryable", "599"),
        ({"how": "status", "status": 304}, "retryable", "304"),
        ({"how": "status", "status": 410}, "discarded", "410"),
        ({"how": "reset"}, "retryable", ""),
        ({"how": "close"}, "retryable", ""),
        ({"how": "half"}, "retryable", ""),
        ({"how": "half_head"}, "retryable", ""),
        ({"how": "garbage"}, "retryable", ""),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_the_answer_says_how_the_run_ends(conn, dispatch, endpoints, payload, ends, told):
    set_endpoint(conn, "*", endpoints.url("failing"))
    job = enqueue(conn, payload=payload)
    dispatch()
    await_state(conn, job, ends)
    assert len(endpoints.of(job)) == 1
    if told is None:
        assert errors(conn, job) == []
    else:
        [error] = errors(conn, job)
        assert error and told in error


def test_statuses_that_are_permanent_discard(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"), permanent_status=[404, 500])
    jobs = {status: enqueue(conn, payload={"how": "status", "status": status}) for status in [404, 500, 400, 501]}
    dispatch()
    await_counts(conn, discarded=2, retryable=2)
    assert {status: state(conn, job) for status, job in jobs.items()} == {
        404: "discarded", 500: "discarded", 400: "retryable", 501: "retryable"
    }  # fmt: skip


def test_retry_curves_go_by_the_status(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"))
    call(conn, "set_retry_curve", kind="*", error_class="http.40*", discard=True)
    hows = [{"how": "status", "status": 404}, {"how": "status", "status": 500}, {"how": "reset"}]
    jobs = [enqueue(conn, payload=how) for how in hows]
    dispatch()
    await_counts(conn, discarded=1, retryable=2)
    assert [error_classes(conn, job) for job in jobs] == [["http.404"], ["http.500"], ["network"]]


@pytest.mark.parametrize(
    "url, error_class",
    [
        ("http://127.0.0.1:8000/", "address"),
        ("http://169.254.169.254/latest", "address"),
        ("http://2130706433/", "address"),
        ("http://[::ffff:127.0.0.1]/", "address"),
        ("http://localhost:8000/", "address"),
        ("https://example.com/{payload.none}", "payload"),
        (None, "endpoint"),
    ],
)
def test_what_is_not_sent_has_a_class(conn, dispatch, url, error_class):
    set_endpoint(conn, "other", "https://example.com/")
    if url:
        set_endpoint(conn, "work", url, allow_private=False)
    job = enqueue(conn)
    dispatch()
    await_state(conn, job, "retryable")
    assert error_classes(conn, job) == [error_class]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(conn, dispatch, endpoints, status):
    set_endpoint(conn, "*", endpoints.url("failing"))
    job = enqueue(conn, payload={"how": "redirect", "status": status})
    dispatch()
    await_state(conn, job, "retryable")
    assert str(status) in errors(conn, job)[0]
    assert [request.target for request in endpoints.requests] == ["/failing"]


# ---- Retry-After ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["busy", "busy_date"])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_heeded_for_the_job_and_for_its_host(conn, dispatch, endpoints, how, status):
    """A job of the same host waits meanwhile, one of another does not."""
    set_endpoint(conn, "busy", endpoints.url("failing"))
    set_endpoint(conn, "other", endpoints.url("fast"))
    job = enqueue(conn, "busy", payload={"how": how, "status": status, "after": DAY // 2})
    dispatch()
    await_state(conn, job, "retryable")
    assert DAY // 2 - HOUR < due(conn, job) < DAY // 2 + HOUR
    until(lambda: paused_until(conn, endpoints.host("failing")) is not None, "the host's key is paused")
    assert DAY // 2 - HOUR < paused_until(conn, endpoints.host("failing")) < DAY // 2 + HOUR
    waits, goes = enqueue(conn, "busy", payload={"how": "fast"}), enqueue(conn, "other")
    await_state(conn, goes, "completed")
    assert state(conn, waits) == "available"
    reasons = call(conn, "why_waiting", job_id=waits)
    assert [(row.reason, row.gate, row.name) for row in reasons] == [("paused", "concurrency", f"host:{endpoints.host('failing')}")]
    call(conn, "resume_concurrency", key=f"host:{endpoints.host('failing')}")
    await_state(conn, waits, "completed")


def paused_until(conn, host: str) -> float | None:
    query = """SELECT extract(epoch FROM paused_until - clock_timestamp())::float8
                 FROM turnstile.concurrency_keys WHERE key = %s"""
    row = conn.execute(query, [f"host:{host}"]).fetchone()
    return row[0] if row else None


def test_the_pause_of_a_host_holds_for_all_dispatchers_and_ends_by_itself(conn, dispatch, endpoints):
    """No request comes to the host before the pause is over, whatever waits."""
    set_endpoint(conn, "*", endpoints.url("failing"))
    first = enqueue(conn, payload={"how": ["busy", "fast"], "after": 3})
    dispatch(), dispatch()
    await_state(conn, first, "retryable")
    until(lambda: paused_until(conn, endpoints.host("failing")) is not None, "the host's key is paused")
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "fast"}}] * 20)
    await_counts(conn, completed=21)
    refused, *others = sorted(endpoints.requests, key=lambda request: request.begun)
    # From just before the answer on, 3 s by whole seconds of the header and the server's own clock.
    assert min(request.begun for request in others) - refused.ended > 2


def test_a_host_is_paused_for_a_day_at_most(conn, dispatch, endpoints):
    """Or a slip of the other side would cost weeks."""
    set_endpoint(conn, "*", endpoints.url("failing"))
    job = enqueue(conn, payload={"how": "busy", "after": 30 * DAY})
    dispatch()
    await_state(conn, job, "retryable")
    until(lambda: paused_until(conn, endpoints.host("failing")) is not None, "the host's key is paused")
    assert DAY - HOUR < paused_until(conn, endpoints.host("failing")) < DAY + HOUR


def test_a_retry_after_that_means_nothing_is_left_out(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"))
    jobs = [
        enqueue(conn, payload={"how": "status", "status": 429, "headers": {"Retry-After": value}})
        for value in ["soon", "-5", "Mon, 99 Nov 2026 00:00:00 GMT", ""]
    ]
    dispatch()
    await_counts(conn, retryable=len(jobs))
    assert [job for job in jobs if not HOUR / 2 < due(conn, job) < 2 * HOUR] == []


def test_without_a_retry_after_the_queue_says_when(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"))
    job = enqueue(conn, payload={"how": "failure"})
    dispatch()
    await_state(conn, job, "retryable")
    assert HOUR / 2 < due(conn, job) < 2 * HOUR


# ---- 410 ------------------------------------------------------------------------------------------


def test_an_endpoint_that_is_gone_is_paused_until_an_operator_says_otherwise(conn, dispatch, endpoints):
    set_endpoint(conn, "gone", endpoints.url("failing"))
    set_endpoint(conn, "other", endpoints.url("fast"))
    job = enqueue(conn, "gone", payload={"how": "gone"})
    dispatch()
    await_state(conn, job, "discarded")
    paused = "SELECT paused FROM turnstile.endpoint WHERE pattern = 'gone'"
    until(lambda: conn.execute(paused).fetchone() == (True,), "the endpoint is paused")
    waits, goes = enqueue(conn, "gone", payload={"how": "fast"}), enqueue(conn, "other")
    await_state(conn, goes, "completed")
    assert (state(conn, waits), endpoints.of(waits)) == ("available", [])
    assert [row.reason for row in call(conn, "why_waiting", job_id=waits)] == ["paused"]
    call(conn, "set_endpoint", pattern="gone", paused=False)
    await_state(conn, waits, "completed")


# ---- Bodies ---------------------------------------------------------------------------------------


def test_answers_are_kept_only_where_asked(conn, dispatch, endpoints):
    set_endpoint(conn, "kept", endpoints.url(), keep_response=True)
    set_endpoint(conn, "dropped", endpoints.url())
    body = '{"a": [1, "ä"]}'
    kept, dropped = (enqueue(conn, kind, payload={"how": "ok", "body": body}) for kind in ["kept", "dropped"])
    dispatch()
    await_counts(conn, completed=2)
    assert result(conn, kept) == {"a": [1, "ä"]}
    assert result(conn, dropped) is None


def test_what_is_said_of_a_failure_is_kept_only_where_asked(conn, dispatch, endpoints):
    set_endpoint(conn, "kept", endpoints.url("failing"), keep_response=True)
    set_endpoint(conn, "dropped", endpoints.url("failing"))
    payload = {"how": "status", "status": 500, "body": "the reason" + "ä" * 5000}
    kept, dropped = (enqueue(conn, kind, payload=payload) for kind in ["kept", "dropped"])
    dispatch()
    await_counts(conn, retryable=2)
    assert "the reason" in errors(conn, kept)[0] and len(errors(conn, kept)[0]) < 1200
    assert "the reason" not in errors(conn, dropped)[0]


@pytest.mark.parametrize("body", ["no JSON", "", "{", "[1] 2"])
def test_a_body_that_is_no_result_completes_without_one(conn, dispatch, endpoints, body):
    set_endpoint(conn, "*", endpoints.url(), keep_response=True)
    job = enqueue(conn, payload={"how": "ok", "body": body})
    dispatch()
    until(lambda: state(conn, job) in ("completed", "retryable"), "it has ended")
    assert (state(conn, job), result(conn, job)) == ("completed", None)


def test_a_huge_body_does_no_harm(conn, dispatch, endpoints):
    """It is not read to its end, and others go on."""
    set_endpoint(conn, "kept", endpoints.url("failing"), keep_response=True)
    set_endpoint(conn, "dropped", endpoints.url("failing"))
    set_endpoint(conn, "other", endpoints.url("fast"))
    huge = [enqueue(conn, kind, payload={"how": "huge"}) for kind in ["kept", "dropped"]]
    enqueue_many(conn, [{"kind": "other"}] * 20)
    worker = dispatch()
    until(lambda: not {"available", "running"} & {state(conn, job) for job in huge}, "both have ended")
    await_counts(conn, completed=22)
    assert result(conn, huge[1]) is None
    assert most_memory(worker.process.pid) < 200 * 1024


def most_memory(pid: int) -> int:
    """In kB."""
    with open(f"/proc/{pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmHWM")))


# ---- Fireworq -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, body, ends, told",
    [
        (200, '{"status": "success", "message": "fine"}', "completed", None),
        (500, '{"status": "success"}', "completed", None),
        (200, '{"status": "failure", "message": "not yet"}', "retryable", "not yet"),
        (200, '{"status": "permanent-failure", "message": "never"}', "discarded", "never"),
        (404, '{"status": "permanent-failure", "message": "never"}', "discarded", "never"),
        (200, '{"status": "whatever"}', "retryable", ""),
        (200, "{}", "retryable", ""),
        (200, "fine", "retryable", ""),
    ],
)
def test_in_mode_fireworq_the_body_decides(conn, dispatch, endpoints, status, body, ends, told):
    set_endpoint(conn, "*", endpoints.url(), mode="fireworq")
    job = enqueue(conn, payload={"how": "status", "status": status, "body": body})
    dispatch()
    await_state(conn, job, ends)
    if told is not None:
        assert told in errors(conn, job)[0]


# ---- Which jobs -----------------------------------------------------------------------------------


def test_only_its_queues_are_looked_at(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url())
    other, own = enqueue(conn, queue="other"), enqueue(conn, queue="http")
    dispatch("--queues", "http,heavy")
    await_state(conn, own, "completed")
    assert state(conn, other) == "available"


def test_a_kind_without_an_endpoint_says_so(conn, dispatch, endpoints):
    set_endpoint(conn, "known", endpoints.url())
    unknown, known = enqueue(conn, "unknown"), enqueue(conn, "known")
    worker = dispatch()
    await_state(conn, known, "completed")
    until(lambda: "unknown" in worker.stderr(), "it is told", worker.stderr)
    assert state(conn, unknown) not in ("completed", "discarded")


def test_a_job_that_comes_later_wakes_it(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url())
    dispatch()
    await_asleep(conn, 1)
    job = enqueue(conn)
    await_state(conn, job, "completed")


def test_who_may_work_can_dispatch_and_no_more(db, conn, dispatch, endpoints, role):
    call(conn, "allow_worker", role=role, queues=["http"])
    set_endpoint(conn, "*", endpoints.url())
    job = enqueue(conn, queue="http")
    database = f"dbname={db.name} options='-c role={role}'"
    dispatch("--queues", "http", database=database)
    await_state(conn, job, "completed")
    status, said = dispatch("--queues", "other", database=database).ended()
    assert (status, "42501" in said) == (1, True)
    assert claim_next(conn, "http") is None
