"""Payloads, results and errors that break a careless client. Whatever becomes of such a run, it ends, and so do those beside it."""

import json

import pytest
from psycopg.types.json import Jsonb

from support.ended import await_state, errors, result
from support.sleepers import until

needs = pytest.mark.needs


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


# Each client gives these back as they were.
PLAIN = {
    "null": "null",
    "false": "false",
    "zero": "0",
    "an empty text": '""',
    "an empty list": "[]",
    "text that looks like JSON": json.dumps('{"a": 1}'),
    "quotes and backslashes": json.dumps("'\"\\ $1 %s :id ${x} `x` \r\n\t"),
    "letters of all kinds": json.dumps("\u00e9 \u4e16 \U0001f600 \u202e \u2028 \ufeff \ufffe", ensure_ascii=False),
    "keys that mean something": '{"": 1, "__proto__": {"a": 1}, "constructor": 2, "toString": 3, "self": 4, "__class__": 5}',
    "a megabyte": json.dumps("x" * (2**20 - 100)),
    "100 levels": deep(100),
    "10,000 members": json.dumps(list(range(10_000))),
}
# A language may have no value for these.
STRANGE = {
    "500 levels": deep(500),
    "5,000 levels": deep(5000),
    "more than a double": "1e400",
    "less than a double": "1e-400",
    "30 digits": "123456789012345678901234567890",
    "30 decimals": "0.123456789012345678901234567890",
    "trailing zeros": "[1.10, 1.0]",
}
ADD = """
SELECT turnstile.enqueue('echo', %s::text::jsonb, queue => 'quick', max_attempts => 1), turnstile.enqueue('ok')
"""
ENDED = "SELECT state, attempt, result::text, payload::text, result IS NOT DISTINCT FROM payload FROM turnstile.jobs WHERE id = %s"


def await_ended(served, job: int) -> tuple:
    def ended():
        assert served.driver.is_running(), served.driver.stderr()[-3000:]
        return served.conn.execute(ENDED, [job]).fetchone()[0] in ("completed", "discarded", "retryable")

    until(ended, f"job {job} has ended", lambda: f"{served.conn.execute(ENDED, [job]).fetchone()[:2]} {served.driver.stderr()[-3000:]}")
    return served.conn.execute(ENDED, [job]).fetchone()


def both(served, payload: str) -> tuple:
    """One with the payload and one without, claimed together."""
    poisoned, other = served.conn.execute(ADD, [payload]).fetchone()
    assert await_ended(served, other)[:2] == ("completed", 1)
    return await_ended(served, poisoned)


@pytest.mark.parametrize("payload", PLAIN.values(), ids=PLAIN.keys())
def test_payloads_come_and_go_as_they_are(served, payload):
    state, attempt, result, given, is_same = both(served, payload)
    assert (state, attempt) == ("completed", 1)
    # A result that is null may as well be none.
    if served.can("results") and given != "null":
        assert is_same, result[:200]


@pytest.mark.parametrize("payload", STRANGE.values(), ids=STRANGE.keys())
def test_payloads_that_a_language_may_not_know(served, payload):
    state, attempt, result, given, is_same = both(served, payload)
    assert attempt == 1
    assert state in ("completed", "discarded")
    if served.can("exact_numbers"):
        assert state == "discarded" or (is_same and result == given)


def fails(served, kind: str, payload=None) -> str:
    text = Jsonb(payload)
    poisoned, other = served.conn.execute("SELECT turnstile.enqueue(%s, %s), turnstile.enqueue('ok')", [kind, text]).fetchone()
    assert await_ended(served, other)[:2] == ("completed", 1)
    assert await_ended(served, poisoned)[:2] == ("retryable", 1)
    [error] = errors(served.conn, poisoned)
    return error


def test_an_error_that_no_text_of_the_server_can_hold(served):
    error = fails(served, "fail_text")
    assert "odd" in error and "end" in error


def test_the_worst_that_a_handler_can_throw_ends_its_run_alone(served):
    fails(served, "fail_oddly")


@pytest.mark.parametrize("text", ["", " ", "x" * (2**20 - 100), "a\nb\r\n" * 100, "%s $1 :error '\"\\ {0} `id`"], ids=["empty", "blank", "1 MB", "lines", "signs"])
def test_errors_of_any_text(served, text):
    assert text[:1000].replace("\r", "").strip() in fails(served, "fail", {"error": text}).replace("\r", "")


@needs("results")
def test_a_result_that_the_server_refuses_fails_the_run(served):
    assert fails(served, "bad_result")


def test_the_worker_goes_on(served):
    job = served.conn.execute("SELECT turnstile.enqueue('ok')").fetchone()[0]
    await_state(served.conn, job, "completed")
    assert result(served.conn, job) is None
