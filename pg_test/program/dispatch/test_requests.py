"""What a request looks like: method, URL, body, headers, signatures; and what changes while the dispatcher runs."""

import datetime
import re

import pytest

from support.calls import call, enqueue
from support.dispatch import set_endpoint
from support.ended import await_counts, await_state, error_classes, errors
from support.sleepers import until
from support.webhooks import is_signed_by, new_secret

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def only_request(conn, endpoints, job: int):
    await_state(conn, job, "completed")
    [request] = endpoints.of(job)
    return request


def test_a_job_is_a_post_of_its_payload(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("fast", "/fast?x=1"))
    payload = {"a": [1, 2.5, None, "ä\n\"b\""], "large": 12345678901234567890}
    dispatch()
    request = only_request(conn, endpoints, enqueue(conn, payload=payload))
    assert (request.method, request.target, request.json) == ("POST", "/fast?x=1", payload)
    assert request.headers["content-type"].startswith("application/json")
    assert request.headers["host"] == endpoints.host()


def test_the_headers_tell_of_the_job_and_its_run(conn, dispatch, endpoints):
    set_endpoint(conn, "m*", endpoints.url())
    dispatch("--queues", "http", "--lease", "1h")
    job = enqueue(conn, "mail", queue="http", max_attempts=7)
    headers = only_request(conn, endpoints, job).headers
    assert {name: headers[f"turnstile-{name}"] for name in ["job-id", "attempt", "max-attempts", "queue", "kind"]} == {
        "job-id": str(job), "attempt": "1", "max-attempts": "7", "queue": "http", "kind": "mail",
    }  # fmt: skip
    assert headers["webhook-id"] == f"job_{job}"
    assert headers["idempotency-key"] == f'"job_{job}"'
    deadline = datetime.datetime.fromisoformat(headers["turnstile-deadline"])
    assert deadline.tzinfo is not None
    left = (deadline - datetime.datetime.now(datetime.UTC)).total_seconds()
    assert 0 < left <= 3600
    assert not {"webhook-signature", "ce-id", "turnstile-callback", "turnstile-callback-token"} & headers.keys()


def test_the_id_is_that_of_the_job_on_each_attempt(conn, dispatch, endpoints):
    call(conn, "set_queue", name="*", retry_base="10 milliseconds", retry_cap="10 milliseconds")
    set_endpoint(conn, "*", endpoints.url("failing"))
    dispatch()
    job = enqueue(conn, payload={"how": ["failure", "reset", "fast"]})
    await_state(conn, job, "completed")
    requests = endpoints.of(job)
    assert [request.attempt for request in requests] == [1, 2, 3]
    for name in ["webhook-id", "idempotency-key"]:
        assert len({request.headers[name] for request in requests}) == 1
    assert len({request.headers["traceparent"] for request in requests}) == 3


def test_a_trace_goes_on_where_there_is_one(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url())
    dispatch()
    within = enqueue(conn, metadata={"traceparent": PARENT})
    nonsense = enqueue(conn, metadata={"traceparent": "nonsense\r\nX-Evil: 1"})
    without = enqueue(conn)
    seen = {job: only_request(conn, endpoints, job).headers for job in [within, nonsense, without]}
    traces = {job: re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}", headers["traceparent"]) for job, headers in seen.items()}
    assert all(traces.values())
    assert traces[within][1] == TRACE and traces[within][2] not in PARENT
    assert TRACE not in {traces[nonsense][1], traces[without][1]}
    assert "x-evil" not in seen[nonsense]


def test_headers_and_the_method_are_those_of_the_endpoint(conn, dispatch, endpoints):
    headers = {"X-Api-Version": "7", "Authorization": "Basic abc"}
    for method in ["POST", "PUT", "PATCH", "GET", "DELETE"]:
        set_endpoint(conn, method, endpoints.url(), method=method, headers=headers)
    dispatch()
    for method in ["POST", "PUT", "PATCH", "GET", "DELETE"]:
        request = only_request(conn, endpoints, enqueue(conn, method))
        assert (request.method, request.headers["x-api-version"], request.headers["authorization"]) == (method, "7", "Basic abc")


# ---- Placeholders ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, shown",
    [
        ("ada", "ada"),
        (7, "7"),
        (True, "true"),
        ("a/b", "a%2Fb"),
        ("a..b", "a..b"),
        ("a?b=c&d#e", "a%3Fb%3Dc%26d%23e"),
        ("ä €", "%C3%A4%20%E2%82%AC"),
        ("x\r\nX-Evil: 1", "x%0D%0AX-Evil%3A%201"),
        ("100%", "100%25"),
    ],
)
def test_placeholders_are_filled_from_the_payload_and_encoded(conn, dispatch, endpoints, value, shown):
    set_endpoint(conn, "*", endpoints.url("fast", "/fast/{payload.user.name}?n={payload.user.name}"))
    dispatch()
    request = only_request(conn, endpoints, enqueue(conn, payload={"user": {"name": value}}))
    assert request.target == f"/fast/{shown}?n={shown}"
    assert "x-evil" not in request.headers


NO_VALUES = [{}, {"user": {}}, [], *[{"user": {"name": value}} for value in [None, {"a": 1}, [1], "..", "../../etc"]]]


@pytest.mark.parametrize("payload", NO_VALUES)
def test_a_placeholder_without_a_value_for_it_fails_the_job_and_says_so(conn, dispatch, endpoints, payload):
    set_endpoint(conn, "*", endpoints.url("fast", "/fast/{payload.user.name}"))
    job = enqueue(conn, payload=payload)
    dispatch()
    until(lambda: errors(conn, job), "it has failed")
    assert "payload.user.name" in errors(conn, job)[0]
    assert endpoints.requests == []


# ---- Signatures -----------------------------------------------------------------------------------


def test_a_receiver_can_check_the_signature(conn, dispatch, endpoints):
    secret = new_secret()
    set_endpoint(conn, "*", endpoints.url(), secret="env:TURNSTILE_SECRET_SHOP")
    dispatch(TURNSTILE_SECRET_SHOP=secret)
    request = only_request(conn, endpoints, enqueue(conn, payload={"text": "ä"}))
    assert is_signed_by(secret, request.headers, request.body)
    assert not is_signed_by(new_secret(), request.headers, request.body)
    assert not is_signed_by(secret, request.headers, request.body + b" ")


def test_secrets_are_rotated_while_it_runs(conn, dispatch, endpoints, tmp_path):
    """From the old one over both to the new one, so that a receiver that knows either is content at each step."""
    old, new = new_secret(), new_secret()
    file = tmp_path / "shop" / "secret"
    file.parent.mkdir()
    file.write_text(f"{old}\n")
    file.chmod(0o600)
    set_endpoint(conn, "*", endpoints.url(), secret="file:shop/secret")
    dispatch("--secrets", tmp_path)

    def signed_by() -> list[bool]:
        request = only_request(conn, endpoints, enqueue(conn))
        return [is_signed_by(secret, request.headers, request.body) for secret in [old, new]]

    assert signed_by() == [True, False]
    file.write_text(f"{new}\n{old}\n")
    until(lambda: signed_by() == [True, True], "both sign")
    file.write_text(f"{new}\n")
    until(lambda: signed_by() == [False, True], "the new one signs alone")


def test_the_secret_goes_nowhere_else(conn, dispatch, endpoints):
    secret = new_secret()
    set_endpoint(conn, "*", endpoints.url("failing"), secret="env:TURNSTILE_SECRET_SHOP")
    worker = dispatch(TURNSTILE_SECRET_SHOP=secret)
    job = enqueue(conn, payload={"how": "failure"})
    await_state(conn, job, "retryable")
    told = [*endpoints.requests[0].headers.values(), worker.stderr(), *errors(conn, job)]
    key = secret.removeprefix("whsec_")
    assert [text for text in told if key in text] == []


@pytest.mark.parametrize("reference", ["env:TURNSTILE_SECRET_NONE", "file:none", "file:link"])
def test_without_its_secret_nothing_is_sent(conn, dispatch, endpoints, tmp_path, reference):
    """Also where a link leads out of the folder of secrets."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (tmp_path / "outside").write_text(new_secret())
    (secrets / "link").symlink_to(tmp_path / "outside")
    set_endpoint(conn, "*", endpoints.url(), secret=reference)
    job = enqueue(conn)
    worker = dispatch("--secrets", secrets)
    until(lambda: errors(conn, job), "it says so", worker.stderr)
    assert (endpoints.requests, error_classes(conn, job)) == ([], ["endpoint"])


def test_a_folder_of_secrets_that_is_not_there_is_told_at_once(dispatch, tmp_path):
    status, said = dispatch("--secrets", tmp_path / "none").ended()
    assert (status, "--secrets" in said) == (2, True)


# ---- CloudEvents ----------------------------------------------------------------------------------


def test_cloudevents_have_their_headers(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url(), cloudevents=True)
    dispatch("--source", "/shop/jobs")
    job = enqueue(conn, "order.paid", payload={"a": 1})
    request = only_request(conn, endpoints, job)
    given = {name: value for name, value in request.headers.items() if name.startswith("ce-")}
    time = datetime.datetime.fromisoformat(given.pop("ce-time"))
    assert given == {"ce-specversion": "1.0", "ce-id": f"job_{job}", "ce-source": "/shop/jobs", "ce-type": "order.paid"}
    query = "SELECT created_at = %s FROM turnstile.jobs WHERE id = %s"
    assert conn.execute(query, [time, job]).fetchone() == (True,)
    assert request.headers["content-type"].startswith("application/json") and request.json == {"a": 1}


# ---- Changed while it runs ------------------------------------------------------------------------


def test_a_changed_endpoint_counts_from_soon_on(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("fast", "/fast/old"))
    dispatch()
    assert only_request(conn, endpoints, enqueue(conn)).target == "/fast/old"
    set_endpoint(conn, "*", endpoints.url("slow", "/fast/new"))
    until(lambda: only_request(conn, endpoints, enqueue(conn)).target == "/fast/new", "the new one is asked")
    set_endpoint(conn, "special.*", endpoints.url("fast", "/fast/special"))
    until(lambda: only_request(conn, endpoints, enqueue(conn, "special.a")).target == "/fast/special", "the closer one is")
    assert only_request(conn, endpoints, enqueue(conn)).target == "/fast/new"
    call(conn, "drop_endpoint", pattern="special.*")
    until(lambda: only_request(conn, endpoints, enqueue(conn, "special.a")).target == "/fast/new", "the other one is again")


def test_connections_are_kept(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url())
    dispatch("--concurrency", 4)
    for _ in range(50):
        enqueue(conn)
    await_counts(conn, completed=50)
    assert endpoints.record.connections <= 8
