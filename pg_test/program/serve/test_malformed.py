"""Requests that mean nothing, or too much: each is refused, and says why, and the next one is served."""

import gzip
import socket

import pytest

from support.ended import counts
from support.serve import ask, token_of

DEEP = 100_000
ONE_MB = 1024 * 1024

BODIES = {
    "no JSON": (b"{", 400),
    "half a string": (b'"a', 400),
    "two values": (b"1 2", 400),
    "no UTF-8": (b'{"a": "\xff"}', 400),
    "half a character": (b'"\xc3', 400),
    "NUL in a string": (b'{"a": "\\u0000"}', 400),
    "half a surrogate": (b'{"a": "\\ud800"}', 400),
    "NUL": (b'{"a": "\0"}', 400),
    "a byte order mark": (b'\xef\xbb\xbf{"a": 1}', 400),
    "a huge number": (b"1e1000000", 400),
    "not a number": (b"NaN", 400),
    "deep": (b"[" * DEEP + b"]" * DEEP, 400),
    "deep and open": (b"[" * DEEP, 400),
    "long": (b'"' + b"x" * ONE_MB + b'"', 413),
}
ARRAYS = {
    "an object": ({}, 400),
    "a number": (7, 400),
    "null": (None, 400),
    "numbers": ([1], 400),
    "no kind": ([{}], 400),
    "an unknown key": ([{"kind": "a", "color": "red"}], 400),
    "kind is a number": ([{"kind": 7}], 400),
    "priority is text": ([{"kind": "a", "priority": "high"}], 400),
    "priority is huge": ([{"kind": "a", "priority": 10**30}], 400),
    "run_at is no time": ([{"kind": "a", "run_at": "soon"}], 400),
    "NUL in a name": ([{"kind": "a\0"}], 400),
    "no such job": ([{"kind": "a", "after": [999999]}], 404),
    "too many": ([{"kind": "a"}] * 100_001, 413),
}
QUERIES = {
    "color=red": 400,
    "queue=a&queue=b": 400,
    "queue=": 400,
    "queue=%00": 400,
    "queue=%FF": 400,
    "priority=high": 400,
    "priority=99999999999": 400,
    "run_at=soon": 400,
    "max_attempts=0": 400,
    "metadata=%7B": 400,
    "unique_for=never&unique_key=a": 400,
    "unique_by=payload,color": 400,
    "unique_states=available": 400,
    "unique_key=a&unique_states=running": 400,
    "unique_key=a&unique_states=available,done": 400,
    "unique_key=a&unique_states=": 400,
    "unique_key=a&unique_states=available&unique_mode=replace": 400,
    "after=7,x": 400,
    "after=999999": 404,
    "parent=999999": 404,
    f"queue={'x' * 256}": 413,
}


@pytest.fixture
def served(serve, producer):
    return serve(producer)


@pytest.mark.parametrize("name", BODIES)
def test_a_wrong_payload(conn, served, producer, name):
    body, status = BODIES[name]
    answer = served.post("/v1/jobs/a", body, role=producer)
    assert answer.status == status, answer
    assert answer.json["status"] == status and answer.json["detail"]
    assert counts(conn) == {}
    assert served.post("/v1/jobs/a", role=producer).status == 201


def test_a_wrong_array(conn, serve, producer):
    served = serve(producer, arguments=["--max-body", "4mb"])
    for name, (array, status) in ARRAYS.items():
        body = b"null" if array is None else array
        answer = served.post("/v1/jobs", body, role=producer)
        assert answer.status == status, (name, answer)
        assert answer.json["detail"] and counts(conn) == {}, name


def test_a_wrong_query(conn, served, producer):
    for query, status in QUERIES.items():
        answer = served.post(f"/v1/jobs/a?{query}", role=producer)
        assert answer.status == status, (query, answer)
        assert answer.json["detail"] and counts(conn) == {}, query
    assert served.post("/v1/jobs?queue=a", [{"kind": "a"}], role=producer).status == 400
    for query in ("wait=-1", "wait=nan", "wait=soon", "waits=1"):
        assert served.get(f"/v1/jobs/1?{query}", role=producer).status == 400, query


def test_of_one_job_nothing_is_said_of_arrays(served, producer):
    answer = served.post("/v1/jobs/a?run_at=soon", role=producer)
    assert (answer.json["detail"], answer.json.get("hint")) == ('run_at is not a valid time: "soon"', None)
    assert "element 1" in served.post("/v1/jobs", [{"kind": "a", "run_at": "soon"}], role=producer).json["detail"]


def test_a_wrong_parameter_is_told_in_a_sentence(served, producer):
    answer = served.post("/v1/jobs/a?priority=high", role=producer)
    assert answer.json["detail"] == "The parameter priority is wrong: it is no whole number."


def test_a_wrong_path(served, producer):
    for method, path, status in (
        ("GET", "/v1/jobs/x", 400),
        ("GET", "/v1/jobs/99999999999999999999", 400),
        ("DELETE", "/v1/jobs/7.5", 400),
        ("POST", "/v1/jobs/%FF", 400),
        ("POST", "/v1/jobs/%00", 400),
        ("POST", f"/v1/jobs/{'x' * 256}", 413),
        ("GET", "/v1/jobs/", 404),
        ("GET", "/", 404),
        ("POST", "/v1/jobs/a/b", 404),
        ("GET", "/v1/jobs", 405),
        ("PUT", "/v1/jobs/7", 405),
    ):
        answer = served.ask(method, path, role=producer)
        assert (answer.status, answer.json["status"]) == (status, status), (method, path)
        assert (answer.headers["Allow"] is not None) == (status == 405), (method, path)


@pytest.mark.parametrize("value", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_says_that_it_is_json(conn, served, producer, value):
    for path, body in (("/v1/jobs/a", b"{}"), ("/v1/jobs", b"[]")):
        assert served.post(path, body, role=producer, headers={"Content-Type": value}).status == 415
    assert counts(conn) == {}


def test_a_body_comes_as_it_is(conn, served, producer):
    for encoding, status in (("gzip", 415), ("identity, br", 415), ("identity", 201), (None, 201)):
        answer = served.post("/v1/jobs/a", gzip.compress(b"{}") if status == 415 else b"{}", role=producer, headers={"Content-Encoding": encoding})
        assert answer.status == status, (encoding, answer)
    assert counts(conn) == {"available": 2}


def test_heads_that_others_may_read_in_another_way_are_refused(served, producer):
    """A proxy before it could go by the other token, or by another host."""
    token = f"Authorization: Bearer {token_of(producer)}"
    for version, headers, status in (
        ("1.1", ["Host: a", token], 404),
        ("1.0", [token], 404),
        ("1.1", ["Host: a", token, "Authorization: Bearer another"], 400),
        ("1.1", ["Host: a", "Authorization: Bearer another", token], 400),
        ("1.1", [token], 400),
        ("1.1", ["Host: a", "Host: b", token], 400),
    ):
        head = "\r\n".join([f"GET /v1/jobs/1 HTTP/{version}", *headers, "Connection: close", "", ""])
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            client.sendall(head.encode())
            assert client.makefile().readline().split()[1] == str(status), head


def test_a_limit_holds_for_chunks_too(conn, served, producer):
    chunks = (b'"' if n == 0 else b"x" * 65536 for n in range(17))
    assert served.post("/v1/jobs/a", chunks, role=producer).status == 413
    assert served.post("/v1/jobs/a", iter([b'{"a":', b" 1}"]), role=producer).status == 201
    assert counts(conn) == {"available": 1}


def test_who_is_refused_before_it_has_sent_all_is_told_why(served, producer):
    body = b"x" * (8 << 20)
    assert served.post("/v1/jobs/a", body).status == 401
    assert served.post("/v1/jobs/a", body, role=producer).status == 413
    assert served.post("/v1/jobs/a?color=red", body, role=producer).status == 400


@pytest.mark.parametrize("key", ["", '""', "x" * 129, "\xe9"], ids=repr)
def test_a_wrong_key_of_idempotency(conn, served, producer, key):
    assert served.post("/v1/jobs/a", role=producer, headers={"Idempotency-Key": key}).status == 400
    assert counts(conn) == {}


def test_what_is_no_http(conn, served, producer):
    """Half a body, a head without an end, garbage: the program goes on."""
    head = f"POST /v1/jobs/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of(producer)}\r\nContent-Type: application/json\r\n"
    for text in (
        b"\0" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 200_000,
        head.encode() + b"Content-Length: 100\r\n\r\n{}",
        head.encode() + b"Content-Length: -1\r\n\r\n{}",
        head.encode() + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        head.encode() + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        head.encode() + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            try:
                client.sendall(text)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except OSError:
                pass
    assert counts(conn) == {}
    assert ask(served.port, "GET", "/healthz").status == 200
