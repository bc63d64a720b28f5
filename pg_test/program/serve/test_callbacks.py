"""Callbacks: an endpoint goes on with a run that it was given, and with no other."""

import base64
import hashlib
import hmac
import struct

import pytest

from support.calls import Run, call, cancel, claim_next, enqueue
from support.ended import error_classes, errors, result, state
from support.program import USAGE, attempt
from support.serve import ask

KEY = "a key of callbacks that is long enough"
BEFORE = "the key of before, which is as long"


def token(run: Run, key: str = KEY) -> str:
    """Made without the program, which so keeps to what is written of them."""
    signed = b"turnstile callback 1\0" + struct.pack(">qi", run.id, run.attempt)
    return base64.urlsafe_b64encode(hmac.digest(key.encode(), signed, hashlib.sha256)).rstrip(b"=").decode()


@pytest.fixture
def callbacks(serve, tmp_path):
    key = tmp_path / "key"
    key.write_text(f"{KEY}\n{BEFORE}\n")
    key.chmod(0o640)
    served = serve(arguments=["--callbacks", "127.0.0.1:0", "--callback-key", key])
    port = served.port_for("callbacks")

    def post(run, what: str, body=None, shown: str | None = None, **more):
        return ask(port, "POST", f"/runs/{run.id}/{run.attempt}/{what}", body, token=shown or token(run), **more)

    return post


def started(conn, **arguments) -> Run:
    enqueue(conn, **arguments)
    job = claim_next(conn, lease="1 hour")
    return Run(job.id, job.attempt)


def test_a_run_is_completed_with_a_result(conn, callbacks):
    run = started(conn)
    answer = callbacks(run, "complete", b' {"n": 1.10}')
    assert (answer.status, answer.json) == (200, {"completed": True})
    assert (state(conn, run.id), result(conn, run.id)) == ("completed", {"n": 1.1})
    # The answer may have been lost: to say it again is no error, and changes nothing.
    again = callbacks(run, "complete", {"other": 1})
    assert (again.status, again.json) == (200, {"completed": False})
    assert result(conn, run.id) == {"n": 1.1}
    for what, body in (("fail", None), ("heartbeat", None), ("progress", {"done": 1})):
        refused = callbacks(run, what, body)
        assert (refused.status, refused.sqlstate) in ((409, "55000"), (404, "P0002")), what


def test_a_run_is_completed_without_a_result(conn, callbacks):
    run = started(conn)
    assert callbacks(run, "complete").status == 200
    assert (state(conn, run.id), result(conn, run.id)) == ("completed", None)


def test_a_run_fails(conn, callbacks):
    run = started(conn)
    answer = callbacks(run, "fail", {"error": "no such address", "error_class": "bad address", "retry_in": 3600})
    assert (answer.status, answer.json) == (200, {"state": "retryable"})
    assert (errors(conn, run.id), error_classes(conn, run.id)) == (["no such address"], ["bad address"])
    due = "SELECT run_at BETWEEN now() + interval '50 min' AND now() + interval '70 min' FROM turnstile.job"
    assert conn.execute(due).fetchone() == (True,)
    assert callbacks(run, "complete").status == 409
    other = started(conn)
    assert callbacks(other, "fail", {"discard": True}).json == {"state": "discarded"}
    third = started(conn)
    assert callbacks(third, "fail").json == {"state": "retryable"}


def test_a_heartbeat_extends_the_lease_and_tells_of_cancellation(conn, callbacks):
    run = started(conn)
    left = "SELECT extract(epoch FROM lease_expires_at - now()) FROM turnstile.job"
    assert callbacks(run, "heartbeat", {"lease": 36000}).json == {"cancelled": False}
    assert conn.execute(left).fetchone()[0] > 35000
    assert callbacks(run, "heartbeat").status == 200
    assert conn.execute(left).fetchone()[0] < 35000
    cancel(conn, run.id)
    assert callbacks(run, "heartbeat").json == {"cancelled": True}
    assert callbacks(run, "progress", {"done": 1}).json == {"cancelled": True}


def test_progress_is_kept(conn, callbacks):
    run = started(conn)
    body = b'{"done": 12345678901234567890.5, "total": 2e20, "message": "half"}'
    assert callbacks(run, "progress", body).json == {"cancelled": False}
    kept = conn.execute("SELECT progress->>'done', progress->>'total', progress->>'message' FROM turnstile.job").fetchone()
    assert kept == ("12345678901234567890.5", "200000000000000000000", "half")


def test_a_token_is_good_for_its_run_alone(conn, callbacks):
    run, other = started(conn), started(conn)
    later = Run(run.id, run.attempt + 1)
    missing = Run(999_999, 1)
    for shown in (token(other), token(later), token(run, "another key, which is as long too"), "x", token(run)[:-1], token(run) + "A"):
        for target in (run, missing):
            for what in ("complete", "fail", "heartbeat", "progress"):
                refused = callbacks(target, what, shown=shown)
                assert refused.status == 401, (shown, target)
                assert "sqlstate" not in refused.json
    assert (state(conn, run.id), state(conn, other.id)) == ("running", "running")
    # Who has the token of a run that is not there learns that.
    assert callbacks(missing, "complete").status == 404


def test_the_token_has_a_header_of_its_own_and_keys_rotate(conn, callbacks):
    first, second = started(conn), started(conn)
    own = {"Turnstile-Callback-Token": token(first), "Authorization": None}
    assert callbacks(first, "complete", headers=own).status == 200
    assert callbacks(second, "complete", shown=token(second, BEFORE)).status == 200


def test_a_run_that_was_superseded_is_told_so(conn, callbacks):
    run = started(conn)
    conn.execute("UPDATE turnstile.job SET lease_expires_at = now() - interval '1 s'")
    call(conn, "rescue")
    conn.execute("UPDATE turnstile.job SET run_at = now()")
    call(conn, "promote")
    again = claim_next(conn)
    assert (again.id, again.attempt) == (run.id, 2)
    for what, body in (("complete", None), ("fail", None), ("heartbeat", None), ("progress", {"done": 1})):
        refused = callbacks(run, what, body)
        assert (refused.status, refused.sqlstate) == (409, "55000"), what
    assert state(conn, run.id) == "running"


def test_wrong_bodies_change_nothing(conn, callbacks):
    run = started(conn)
    for what, body, status in (
        ("complete", b"{", 400),
        ("complete", b"\xff", 400),
        ("complete", b'"\\u0000"', 400),
        ("complete", b"[" * 100_000, 400),
        ("complete", b'"' + b"x" * (1 << 20) + b'"', 413),
        ("fail", b"[]x", 400),
        ("fail", ["x", 1, True], 400),
        ("progress", [1, 2, "x"], 400),
        ("fail", {"retry": 1}, 400),
        ("fail", {"retry_in": -1}, 400),
        ("fail", {"retry_in": 1e300}, 400),
        ("fail", {"retry_in": 1e12}, 400),
        ("fail", {"error": 7}, 400),
        ("fail", {"error": "\0"}, 400),
        ("fail", {"error_class": 7}, 400),
        ("fail", {"error_class": ""}, 400),
        ("fail", {"error_class": "x" * 256}, 413),
        ("heartbeat", {"lease": 0}, 400),
        ("heartbeat", {"lease": "1"}, 400),
        ("progress", None, 400),
        ("progress", {}, 400),
        ("progress", {"done": "1"}, 400),
        ("progress", {"done": 1, "color": "red"}, 400),
        ("finish", None, 404),
    ):
        answer = callbacks(run, what, body)
        assert answer.status == status, (what, body if body is None or len(body) < 100 else "long", answer)
    assert state(conn, run.id) == "running"


@pytest.mark.parametrize("text, mode", [("", 0o600), ("\n", 0o600), ("short", 0o600), (f"{KEY}\nshort", 0o600), (KEY, 0o644), (KEY, 0o602)])
def test_keys_that_are_too_short_or_that_others_have_are_refused(db, tmp_path, serve, text, mode):
    key = tmp_path / "key"
    key.write_text(text)
    key.chmod(mode)
    tokens = serve().tokens
    done = attempt("-d", db.name, "serve", "--tokens", tokens, "--callbacks", "127.0.0.1:0", "--callback-key", key)
    assert done.returncode == USAGE and "--callback-key" in done.stderr
