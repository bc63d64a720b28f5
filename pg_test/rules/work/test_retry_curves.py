"""Retry curves: how long a failed job waits, by its kind and the class of the error, and whether it is repeated at all."""

from random import Random

import psycopg
import pytest

from support.calls import call, claim, claim_all, claim_next, enqueue, enqueue_times, fail, many
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused

WAIT = "SELECT extract(epoch FROM run_at - (errors -> -1 ->> 'at')::timestamptz)::float8 FROM turnstile.job WHERE id = %s"
# Times are taken while the statement runs.
LATE = 5


def _curve(conn, kind="*", error_class="*", **columns):
    return call(conn, "set_retry_curve", kind=kind, error_class=error_class, **{"jitter": 0} | columns)[0]


def _failed(conn, kind="work", attempt=1, **arguments):
    """How long a job of the kind waits after its counted attempt, or the state in which it ends."""
    job = enqueue(conn, kind=kind, max_attempts=2_000_000_000)
    conn.execute("UPDATE turnstile.job SET attempt = %s WHERE id = %s", [attempt - 1, job])
    run = claim_next(conn)
    assert run.id == job
    state = fail(conn, run, error="no", **arguments)
    return conn.execute(WAIT, [job]).fetchone()[0] if state == "retryable" else state


def _waits(conn, seconds, **what):
    assert seconds - 0.001 <= _failed(conn, **what) <= seconds + LATE


def test_without_a_row_the_queue_decides(conn):
    call(conn, "set_queue", name="default", retry_base="100 seconds", retry_cap="1 hour")
    assert 100 <= _failed(conn) <= 110 + LATE
    assert 1600 <= _failed(conn, attempt=2, error_class="timeout") <= 1760 + LATE


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 60), (2, 180), (3, 540), (4, 1000), (1000, 1000), (2_000_000, 1000)])
def test_a_curve_grows_up_to_its_cap(conn, attempt, seconds):
    _curve(conn, base="1 minute", factor=3, cap="1000 seconds")
    _waits(conn, seconds, attempt=attempt)


@pytest.mark.parametrize(
    ("columns", "attempt", "seconds"),
    [({"base": "0"}, 50, 0), ({"base": "100 years", "cap": "100 years", "factor": 1000}, 1_000_000, 30 * 365.25 * 86400),
     ({"base": "1 microsecond", "cap": "1 hour", "factor": 1000}, 1_000_000, 3600), ({"base": "90 seconds", "factor": 1}, 9999, 90),
     ({"base": "10 seconds", "factor": 1.000000000001, "cap": "1 hour"}, 3, 10), ({"base": "1 hour", "cap": "0"}, 3, 0)],
)  # fmt: skip
def test_no_curve_makes_a_failure_fail(conn, columns, attempt, seconds):
    _curve(conn, **columns)
    _waits(conn, seconds, attempt=attempt)


def test_jitter_spreads_within_its_part(conn):
    _curve(conn, base="1000 seconds", factor=1, jitter=0.5)
    enqueue_times(conn, 60)
    runs = claim_all(conn)
    assert many(conn, "fail_many", runs)[0][0] == len(runs)
    waits = [conn.execute(WAIT, [run.id]).fetchone()[0] for run in runs]
    assert all(500 <= wait <= 1500 + LATE for wait in waits)
    assert min(waits) < 900 and max(waits) > 1100, "that all 60 lie on one side takes 10^-7"


def test_what_a_row_leaves_out_is_of_the_queue(conn):
    call(conn, "set_queue", name="*", retry_base="7 seconds", retry_cap="20 seconds")
    _curve(conn, factor=2)
    _waits(conn, 7)
    _waits(conn, 20, attempt=3)
    _curve(conn, base="1 second")
    _waits(conn, 4, attempt=3)
    assert _curve(conn, clear=["base"]).base is None
    _waits(conn, 7)


ROWS = [
    ("*", "*", 1000), ("mail*", "*", 2000), ("mail.ad*", "*", 3000), ("mail.adverts", "*", 4000), ("*", "http.*", 5000), ("*", "http.429", 6000),
    ("mail.adverts", "http.*", 7000), ("mail.adverts", "http.4*", 8000), ("100%", "*", 9000), ("a_b", "*", 10000), ("c^d", "*", 11000),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "error_class", "seconds"),
    [("work", None, 1000), ("work", "timeout", 1000), ("mail", None, 2000), ("mail.adults", None, 3000), ("mail.adverts", None, 4000),
     ("mail.adverts", "timeout", 4000), ("work", "http.500", 5000), ("work", "http.429", 6000), ("mail.adverts", "http.500", 7000),
     ("mail.adverts", "http.429", 8000), ("mail", "http.429", 2000), ("100%", None, 9000), ("1000", None, 1000), ("a_b", None, 10000),
     ("axb", None, 1000), ("c^d", None, 11000)],
)  # fmt: skip
def test_the_most_specific_row_applies_and_the_kind_goes_before_the_class(conn, kind, error_class, seconds):
    for row_kind, row_class, wait in ROWS:
        _curve(conn, row_kind, row_class, base=f"{wait} seconds", factor=1)
    conn.execute("SET standard_conforming_strings = off")
    _waits(conn, seconds, kind=kind, error_class=error_class)


def test_a_class_may_be_final(conn):
    _curve(conn, error_class="http.404", discard=True)
    assert _failed(conn, error_class="http.404") == "discarded"
    assert _failed(conn, error_class="http.404", retry_in="1 hour") == "discarded"
    _waits(conn, 1, error_class="http.500")
    run = conn.execute("SELECT id FROM turnstile.job_history ORDER BY id LIMIT 1").fetchone()[0]
    assert call(conn, "retry", job_id=run)


def test_what_the_worker_says_goes_before_the_curve(conn):
    _curve(conn, base="1 hour")
    _waits(conn, 90, retry_in="90 seconds")
    assert _failed(conn, discard=True) == "discarded"


def test_the_class_is_kept_with_the_error(conn):
    job = enqueue(conn, max_attempts=9)
    for error_class in ("http.429", None):
        fail(conn, claim_next(conn), error="no", error_class=error_class, retry_in="0")
    errors = conn.execute("SELECT errors FROM turnstile.job WHERE id = %s", [job]).fetchone()[0]
    assert [error.get("class", "none") for error in errors] == ["http.429", "none"]
    assert {"attempt", "at", "worker", "error", "class"} == set(errors[0])


def test_each_of_many_has_its_class(conn):
    _curve(conn, error_class="a", base="1000 seconds", factor=1)
    _curve(conn, error_class="b", discard=True)
    jobs = enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 3)
    assert many(conn, "fail_many", runs, error_classes=["a", "b", None])[0][0] == 3
    states = dict(conn.execute("SELECT id, state::text FROM turnstile.jobs").fetchall())
    assert [states[job] for job in jobs] == ["retryable", "discarded", "retryable"]
    assert 1000 <= conn.execute(WAIT, [jobs[0]]).fetchone()[0] <= 1000 + LATE
    enqueue(conn)
    runs = claim(conn, ["default"], 1)
    for bad, code in (([""], BAD_VALUE), (["x" * 256], TOO_LONG), (["a", "b"], BAD_VALUE)):
        with refused(code):
            many(conn, "fail_many", runs, error_classes=bad)


def test_a_run_whose_lease_ends_follows_the_curve_of_all_errors(conn):
    _curve(conn, base="1000 seconds", factor=1)
    job = enqueue(conn)
    claim_next(conn, lease="1 millisecond")
    conn.execute("SELECT pg_sleep(0.01)")
    assert call(conn, "rescue")
    assert 1000 <= conn.execute(WAIT, [job]).fetchone()[0] <= 1000 + LATE


def test_a_change_holds_for_the_next_failure_once_it_is_committed(conn, other):
    enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 3)
    with other.transaction():
        _curve(other, base="1000 seconds")
        fail(conn, runs[0])
    fail(conn, runs[1])
    with conn.transaction():
        conn.execute("SAVEPOINT a")
        _curve(conn, base="2000 seconds")
        conn.execute("ROLLBACK TO a")
        fail(conn, runs[2])
    waits = [conn.execute(WAIT, [run.id]).fetchone()[0] for run in runs]
    assert waits[0] < 10 and 1000 <= waits[1] < 1010 and 1000 <= waits[2] < 1010
    assert call(conn, "drop_retry_curve", kind="*", error_class="*") == [(True,)]
    assert call(conn, "drop_retry_curve", kind="*", error_class="*") == [(False,)]
    assert _failed(conn, kind="after") < 10


def test_setting_again_changes_what_is_named(conn):
    first = call(conn, "set_retry_curve", base="1 minute")[0]
    assert (first.kind, first.error_class, first.factor, first.jitter, first.discard, first.cap) == ("*", "*", 2, pytest.approx(0.1), False, None)
    again = call(conn, "set_retry_curve", cap="1 day")[0]
    assert (again.base, again.factor) == (first.base, 2)


@pytest.mark.parametrize(
    "bad",
    [{"base": "-1 s"}, {"base": "101 years"}, {"factor": 0.5}, {"factor": 1001}, {"factor": float("nan")}, {"factor": float("inf")}, {"cap": "-1 s"},
     {"cap": "101 years"}, {"jitter": -0.1}, {"jitter": 1.1}, {"jitter": float("nan")}, {"kind": ""}, {"error_class": ""}, {"clear": ["factor"]}],
)  # fmt: skip
def test_nonsense_is_refused(module_conn, bad):
    with refused(BAD_VALUE):
        call(module_conn, "set_retry_curve", **bad)


@pytest.mark.parametrize("argument", ["kind", "error_class"])
def test_a_name_is_needed(module_conn, argument):
    given = {"kind": "a", "error_class": "b"}
    for verb in ("set_retry_curve", "drop_retry_curve"):
        with refused(NULL_VALUE):
            call(module_conn, verb, **given | {argument: None})
        with refused(TOO_LONG):
            call(module_conn, verb, **given | {argument: "x" * 256})


@pytest.mark.parametrize(("bad", "code"), [("", BAD_VALUE), ("x" * 256, TOO_LONG)], ids=["empty", "long"])
def test_a_class_is_a_word(conn, bad, code):
    enqueue(conn)
    run = claim_next(conn)
    with refused(code):
        fail(conn, run, error_class=bad)
    assert fail(conn, run, error_class="x" * 255) == "retryable"


LETTERS = "ab!%_^\\é"


def _words(random: Random, letters: str) -> list[str]:
    return sorted({"".join(random.choices(letters, k=random.randint(1, 5))) for _ in range(40)})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("argument", ["kind", "error_class"])
def test_patterns_match_and_win_as_those_of_routes_do(conn, argument, seed):
    random = Random(seed)
    patterns, names = _words(random, "***" + LETTERS), _words(random, LETTERS)
    call(conn, "set_queue", name="default", retry_base="0")
    for hours, pattern in enumerate(patterns, 1):
        call(conn, "set_route", pattern=pattern)
        _curve(conn, **{argument: pattern}, base=f"{hours} hours", factor=1, cap="1000 hours")
    for name in names:
        enqueue(conn, kind=name if argument == "kind" else "work")
    runs = claim_all(conn)
    more = {} if argument == "kind" else {"error_classes": names}
    assert many(conn, "fail_many", runs, errors=["no"] * len(runs), **more)[0][0] == len(names)
    for run, name in zip(runs, names, strict=True):
        hours = round(conn.execute(WAIT, [run.id]).fetchone()[0] / 3600)
        won = patterns[hours - 1] if hours else None
        assert call(conn, "route_of", kind=name) == [(won,)], name


def test_only_those_who_manage_change_curves(conn, db):
    (role,) = conn.execute("SELECT 'turnstile_role_' || substr(md5(random()::text), 1, 12)").fetchone()
    conn.execute(f"CREATE ROLE {role}")
    try:
        conn.execute(f"SELECT turnstile.allow_worker('{role}')")
        conn.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON turnstile.retry_curve TO {role}")
        conn.execute(f"SET ROLE {role}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            call(conn, "set_retry_curve", base="1 s")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("INSERT INTO turnstile.retry_curve (kind, error_class) VALUES ('*', '*')")
        conn.execute("RESET ROLE")
        conn.execute(f"SELECT turnstile.allow_operator('{role}')")
        conn.execute(f"SET ROLE {role}")
        assert call(conn, "set_retry_curve", base="1 s")
        assert call(conn, "drop_retry_curve", kind="*", error_class="*") == [(True,)]
    finally:
        conn.execute("RESET ROLE")
        conn.execute(f"DROP OWNED BY {role}")
        conn.execute(f"SELECT turnstile.disallow('{role}')")
        conn.execute(f"DROP ROLE {role}")
