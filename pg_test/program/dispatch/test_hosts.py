"""What holds by host: slots, trials, private addresses, TLS and HTTP/2."""

import ssl
import subprocess
from pathlib import Path

import pytest

from support.calls import call, enqueue, enqueue_many
from support.dispatch import set_endpoint
from support.ended import await_counts, await_state, errors, result, state
from support.endpoints import Endpoints, most_at_once
from support.sleepers import until

ON_TRIAL = "SELECT one_at_a_time FROM turnstile.concurrency_keys WHERE key = %s"


def is_on_trial(conn, endpoints, name: str) -> bool:
    row = conn.execute(ON_TRIAL, [f"host:{endpoints.host(name)}"]).fetchone()
    return bool(row and row[0])


# ---- Slots ----------------------------------------------------------------------------------------


def test_slots_of_a_host_hold_over_two_dispatchers(conn, dispatch, endpoints):
    """Those of another host have their own."""
    call(conn, "set_concurrency", key=f"host:{endpoints.host('slow')}", slots=3)
    set_endpoint(conn, "slow", endpoints.url("slow"))
    set_endpoint(conn, "fast", endpoints.url("fast", "/slow"))
    endpoints.seconds = 0.02
    enqueue_many(conn, [{"kind": kind} for kind in ["slow", "fast"]] * 200)
    dispatch(), dispatch()
    await_counts(conn, completed=400)
    of_slow = [request for request in endpoints.requests if request.host == endpoints.host("slow")]
    assert most_at_once(of_slow) == 3
    assert endpoints.record.most_in_flight[endpoints.host("fast")] > 3


def test_a_changed_number_of_slots_counts_at_once(conn, dispatch, endpoints):
    key = f"host:{endpoints.host('slow')}"
    call(conn, "set_concurrency", key=key, slots=1)
    set_endpoint(conn, "*", endpoints.url("slow", "/held"))
    enqueue_many(conn, [{"kind": "work"}] * 20)
    dispatch()
    until(lambda: endpoints.in_flight("slow") == 1, "one is under way")
    call(conn, "set_concurrency", key=key, slots=7)
    until(lambda: endpoints.in_flight("slow") == 7, "seven are")
    call(conn, "set_concurrency", key=key, slots=2)
    endpoints.release()
    await_counts(conn, completed=20)
    assert most_at_once(endpoints.requests[7:]) <= 2


def test_who_wants_no_key_gets_none(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url(), key_by_host=False)
    named, bare = enqueue(conn, concurrency_key="own"), enqueue(conn)
    keys = dict(conn.execute("SELECT id, concurrency_key FROM turnstile.job").fetchall())
    assert keys == {named: "own", bare: None}
    dispatch()
    await_counts(conn, completed=2)


# ---- Trial ----------------------------------------------------------------------------------------


def test_after_failures_in_a_row_a_host_is_tried_one_at_a_time_until_it_works(conn, dispatch, endpoints):
    """Over two dispatchers, and without a word to the other host."""
    call(conn, "set_queue", name="*", retry_base="50 milliseconds", retry_cap="50 milliseconds", max_attempts=1000)
    set_endpoint(conn, "bad", endpoints.url("failing", "/failure"), trial_after=3)
    set_endpoint(conn, "good", endpoints.url("fast"))
    enqueue_many(conn, [{"kind": "bad"}] * 40)
    workers = [dispatch(), dispatch()]
    until(lambda: is_on_trial(conn, endpoints, "failing"), "the trial has begun", workers[0].stderr)
    settled = len(endpoints.requests)
    until(lambda: endpoints.in_flight("failing") <= 1 and len(endpoints.requests) > settled + 5, "it is tried again and again")
    good = enqueue(conn, "good")
    await_state(conn, good, "completed")
    assert not is_on_trial(conn, endpoints, "fast")
    # What was claimed before the trial began may have come after it.
    settled = len(endpoints.requests)
    until(lambda: len(endpoints.requests) > settled + 10, "and again")
    late = [request for request in endpoints.requests[settled:] if request.host == endpoints.host("failing")]
    assert most_at_once(late) == 1
    set_endpoint(conn, "bad", endpoints.url("failing", "/fast"))
    await_counts(conn, completed=41)
    until(lambda: not is_on_trial(conn, endpoints, "failing"), "the trial is over")


def test_a_trial_that_one_dispatcher_began_ends_by_a_success_of_another(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"), trial_after=2)
    first = dispatch()
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "failure"}}] * 5)
    until(lambda: is_on_trial(conn, endpoints, "failing"), "the trial has begun", first.stderr)
    first.terminate()
    assert first.ended()[0] == 0
    dispatch()
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "fast"}}] * 20)
    until(lambda: not is_on_trial(conn, endpoints, "failing"), "the trial is over")


def test_an_operator_can_end_a_trial(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"), trial_after=2)
    dispatch()
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "failure"}}] * 4)
    until(lambda: is_on_trial(conn, endpoints, "failing"), "the trial has begun")
    call(conn, "resume_concurrency", key=f"host:{endpoints.host('failing')}")
    assert not is_on_trial(conn, endpoints, "failing")


def test_who_wants_no_trial_has_none(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing"), trial_after=0)
    dispatch()
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "failure"}}] * 50)
    await_counts(conn, retryable=50)
    assert not is_on_trial(conn, endpoints, "failing")


def test_refusals_are_no_reason_for_a_trial(conn, dispatch, endpoints):
    """The host works; it is the payload that it does not want."""
    set_endpoint(conn, "*", endpoints.url("failing"), trial_after=2)
    dispatch()
    enqueue_many(conn, [{"kind": "work", "payload": {"how": "status", "status": 422}}] * 20)
    await_counts(conn, retryable=20)
    assert not is_on_trial(conn, endpoints, "failing")


# ---- Private addresses ----------------------------------------------------------------------------

PRIVATE = [
    "http://127.0.0.1:{port}/fast",
    "http://localhost:{port}/fast",
    "http://2130706433:{port}/fast",
    "http://0x7f.1:{port}/fast",
    "http://017700000001:{port}/fast",
    "http://[::ffff:127.0.0.1]:{port}/fast",
    "http://0.0.0.0:{port}/fast",
    "http://127.0.0.1.:{port}/fast",
]


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_are_refused_unless_allowed(conn, dispatch, endpoints, url):
    set_endpoint(conn, "*", url.format(port=endpoints.port), allow_private=False)
    job = enqueue(conn)
    dispatch()
    until(lambda: errors(conn, job), "it is refused")
    assert state(conn, job) in ("retryable", "discarded")
    assert len(errors(conn, job)[0]) > 10
    assert endpoints.record.connections == 0


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/latest", "http://[::ffff:169.254.169.254]/"])
@pytest.mark.parametrize("allow_private", [False, True])
def test_metadata_is_refused_whatever_is_allowed(conn, dispatch, url, allow_private):
    set_endpoint(conn, "*", url, allow_private=allow_private)
    job = enqueue(conn)
    dispatch()
    until(lambda: errors(conn, job), "it is refused")
    assert "169.254.169.254" in errors(conn, job)[0] or "fd00:ec2::254" in errors(conn, job)[0]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_proxies_of_the_environment_are_left_alone(conn, dispatch, endpoints, name):
    set_endpoint(conn, "*", endpoints.url("slow", "/fast"))
    job = enqueue(conn)
    dispatch(**{name: endpoints.url("failing")})
    await_state(conn, job, "completed")
    assert {request.host for request in endpoints.requests} == {endpoints.host("slow")}


# ---- TLS and HTTP/2 -------------------------------------------------------------------------------

H2_ENDPOINT = Path(__file__).with_name("h2_endpoint.mjs")


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """The files of a key and a certificate for the loopback addresses, and of the authority that vouches for it."""
    folder = tmp_path_factory.mktemp("tls")
    authority_key, authority, key, certificate = (folder / name for name in ["ca.key", "ca.pem", "key.pem", "certificate.pem"])
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    issued = ["-CA", authority, "-CAkey", authority_key, "-addext", names, "-addext", "basicConstraints=critical,CA:FALSE"]
    for command in [
        [*make, "-subj", "/CN=authority", "-keyout", authority_key, "-out", authority],
        [*make, "-subj", "/CN=localhost", "-keyout", key, "-out", certificate, *issued],
    ]:
        subprocess.run(command, check=True, capture_output=True)
    return key, certificate, authority


@pytest.fixture
def h2_port(tls):
    command = ["node", H2_ENDPOINT, *tls[:2]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield int(process.stdout.readline())
        process.kill()


def test_http_2_is_spoken_where_the_endpoint_does(conn, dispatch, h2_port, tls):
    """Once that is known, by many requests at once over a connection or two."""
    set_endpoint(conn, "*", f"https://127.0.0.1:{h2_port}/", keep_response=True)
    dispatch(SSL_CERT_FILE=str(tls[2]))
    first = enqueue(conn)
    await_state(conn, first, "completed")
    jobs = [row.id for row in enqueue_many(conn, [{"kind": "work"}] * 100)]
    await_counts(conn, completed=101)
    results = [result(conn, job) for job in [first, *jobs]]
    assert [each["id"] for each in results] == [f"job_{job}" for job in [first, *jobs]]
    assert {each["version"] for each in results} == {"2.0"}
    assert max(each["sessions"] for each in results) <= 2


@pytest.fixture
def endpoints_with_tls(tls):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls[1], tls[0])
    opened = Endpoints(context)
    yield opened
    opened.close()


def test_http_1_goes_over_tls_too(conn, dispatch, endpoints_with_tls, tls):
    set_endpoint(conn, "*", endpoints_with_tls.url())
    job = enqueue(conn)
    dispatch(SSL_CERT_FILE=str(tls[2]))
    await_state(conn, job, "completed")


def test_a_certificate_of_nobody_known_is_refused(conn, dispatch, endpoints_with_tls):
    set_endpoint(conn, "*", endpoints_with_tls.url())
    job = enqueue(conn)
    dispatch()
    until(lambda: errors(conn, job), "it fails")
    assert "certificate" in errors(conn, job)[0].lower()
    assert endpoints_with_tls.requests == []


def test_a_name_that_leads_nowhere_fails_and_is_tried_again(conn, dispatch, endpoints):
    """By the system's resolver, so it may take its time; jobs of other hosts go on."""
    set_endpoint(conn, "nowhere", "http://no-such-host.invalid/")
    set_endpoint(conn, "other", endpoints.url())
    job, other = enqueue(conn, "nowhere"), enqueue(conn, "other")
    dispatch()
    await_state(conn, other, "completed")
    await_state(conn, job, "retryable")
    assert "no-such-host.invalid" in errors(conn, job)[0]
