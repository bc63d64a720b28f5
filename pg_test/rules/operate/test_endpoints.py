"""Endpoints: where the jobs of a kind are sent, and the key of the host that the jobs get."""

import datetime

import pytest
from psycopg.types.json import Jsonb

from support import rows
from support.calls import call, claim_next, complete, enqueue, enqueue_many, release
from support.errors import BAD_VALUE, NO_PRIVILEGE, NO_SUCH_JOB, NULL_VALUE, WRONG_STATE, refused

URL = "https://api.example/hook"
KEY = "host:api.example"


def set_endpoint(conn, pattern: str = "web.*", **columns):
    return call(conn, "set_endpoint", pattern=pattern, **columns)[0]


def endpoint_of(conn, kind: str):
    found = call(conn, "endpoint_of", kind=kind)
    assert len(found) <= 1
    return found[0] if found else None


def report(conn, run, answer: str, **more) -> None:
    call(conn, "report_endpoint", job_id=run.id, attempt=run.attempt, answer=answer, **more)


def slowed(conn) -> list:
    query = "SELECT key, paused_until IS NOT NULL, one_at_a_time FROM turnstile.slowed_key ORDER BY key"
    return conn.execute(query).fetchall()


def _batch(conn, **arguments) -> int:
    parent = call(conn, "enqueue_batch", kind="parent", children=Jsonb([{"kind": "work"} | arguments]))[0][0]
    return conn.execute("SELECT id FROM turnstile.job WHERE parent = %s", [parent]).fetchone()[0]


ADD = {
    "enqueue": enqueue,
    "enqueue_many": lambda conn, **arguments: enqueue_many(conn, [{"kind": "work"} | arguments])[0].id,
    "enqueue_batch": _batch,
    "enqueue with a unique key": lambda conn, **arguments: enqueue(conn, unique_key="u", **arguments),
}
each_way = pytest.mark.parametrize("by", ADD)


def key_of(conn, by: str = "enqueue", **arguments):
    return rows.live(conn, ADD[by](conn, **arguments)).concurrency_key


@each_way
def test_jobs_get_the_key_of_the_host(conn, by):
    set_endpoint(conn, url=URL)
    assert key_of(conn, by, kind="web.a") == KEY
    assert key_of(conn, by, kind="other", tenant="t") is None


@each_way
def test_a_key_that_is_named_stays(conn, by):
    set_endpoint(conn, url=URL)
    assert key_of(conn, by, kind="web.a", concurrency_key="mine") == "mine"
    call(conn, "set_route", pattern="web.a", queue="q", concurrency_key="routed", override=True)
    assert key_of(conn, by, kind="web.a", tenant="t") == "routed"


@each_way
def test_a_route_that_does_not_apply_or_names_no_key_leaves_that_of_the_host(conn, by):
    set_endpoint(conn, url=URL)
    call(conn, "set_route", pattern="web.a", queue="q")
    assert key_of(conn, by, kind="web.a") == KEY
    call(conn, "set_route", pattern="web.a", queue="q", concurrency_key="routed")
    assert key_of(conn, by, kind="web.a", queue="mine", tenant="t") == KEY


def test_without_key_by_host_jobs_get_none_and_no_lesser_pattern_counts(conn):
    set_endpoint(conn, "*", url="http://all.example")
    set_endpoint(conn, "web.*", url=URL, key_by_host=False)
    assert key_of(conn, kind="web.a") is None
    assert key_of(conn, kind="other") == "host:all.example"
    assert endpoint_of(conn, "web.a").concurrency_key is None


KEYS = {
    "https://API.Example/x": "host:api.example",
    "https://api.example:443/x": "host:api.example",
    "https://api.example:80": "host:api.example:80",
    "http://api.example:80?x=1": "host:api.example",
    "http://api.example:8080/x": "host:api.example:8080",
    "http://api.example:443": "host:api.example:443",
    "http://[2001:DB8::1]:80/x": "host:[2001:db8::1]",
    "http://10.0.0.1": "host:10.0.0.1",
}


@pytest.mark.parametrize("url", KEYS)
def test_the_key_is_the_host_with_a_port_that_is_not_the_default(module_conn, url):
    assert set_endpoint(module_conn, url=url).concurrency_key == KEYS[url]


PRECEDENCE = [
    (["*", "report.*", "report.daily"], "report.daily", "report.daily"),
    (["*", "report.*", "report.daily"], "report.weekly", "report.*"),
    (["*", "report.*", "report.daily"], "mail", "*"),
    (["a*", "*bcd"], "abcd", "*bcd"),
    (["ab", "ab*"], "ab", "ab"),
    (["*bc", "ab*"], "abc", "*bc"),
    (["a*b", "a**b"], "ab", "a**b"),
]


@pytest.mark.parametrize(("patterns", "kind", "wins"), PRECEDENCE)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_pattern_that_wins_is_the_one_that_would_among_routes(module_conn, patterns, kind, wins, backwards):
    module_conn.execute("TRUNCATE turnstile.endpoint, turnstile.route")
    for pattern in patterns[::-1] if backwards else patterns:
        set_endpoint(module_conn, pattern, url=URL)
        call(module_conn, "set_route", pattern=pattern)
    assert endpoint_of(module_conn, kind).pattern == wins == call(module_conn, "route_of", kind=kind)[0][0]
    module_conn.execute("TRUNCATE turnstile.endpoint, turnstile.route")
    assert endpoint_of(module_conn, kind) is None


@pytest.mark.parametrize("address", [
    "http://A.example:80/x", "https://a.example:443", "https://a.example:80?q=http://b", "http://a.example:8080/?q=:80", "http://[::1]:80/",
    "http://[FE80::A]:8443", "https://1.2.3.4", "http://a_b.example:443/{payload.a}",
])  # fmt: skip
def test_the_gate_of_an_endpoint_is_that_of_its_key(conn, address):
    set_endpoint(conn, "k", url=address)
    conn.execute("UPDATE turnstile.endpoint SET gate = 1")
    query = "SELECT gate = turnstile_internal.gate_key('concurrency', NULL, concurrency_key) FROM turnstile.endpoint"
    assert conn.execute(query).fetchone() == (True,)


def test_what_is_set_is_what_is_found(conn):
    given = {
        "url": "http://a.example/{payload.user.id}?q={payload.q}", "method": "PUT", "headers": {"X-A": "b"}, "mode": "async",
        "permanent_status": [404, 422], "secret": "file:keys/a", "allow_private": True, "keep_response": True, "cloudevents": True,
        "trial_after": 0, "paused": True, "timeout": datetime.timedelta(minutes=1),
    }  # fmt: skip
    set_endpoint(conn, "k", **given)
    found = endpoint_of(conn, "k")._asdict()
    assert found == given | {"pattern": "k", "concurrency_key": "host:a.example", "on_trial": False}


def test_a_new_endpoint_needs_a_url_and_has_defaults(conn):
    with refused(NULL_VALUE):
        set_endpoint(conn, "k", method="PUT")
    set_endpoint(conn, "k", url=URL)
    found = endpoint_of(conn, "k")
    assert (found.method, found.headers, found.timeout, found.mode, found.permanent_status) == ("POST", {}, None, "sync", [])
    assert (found.secret, found.allow_private, found.keep_response, found.cloudevents) == (None, False, False, False)
    assert (found.trial_after, found.paused, found.concurrency_key) == (5, False, KEY)


def test_a_setter_leaves_what_it_does_not_name(conn):
    made = set_endpoint(conn, "k", url=URL, timeout="1 minute", secret="env:TURNSTILE_SECRET_A", headers={"a": "b"})
    assert set_endpoint(conn, "k") == made
    assert set_endpoint(conn, "k", paused=True) == made._replace(paused=True)
    assert set_endpoint(conn, "k", paused=False, clear=["timeout", "secret"]) == made._replace(timeout=None, secret=None)


def test_dropping_says_whether_there_was_one_and_leaves_jobs_as_they_are(conn):
    set_endpoint(conn, "k", url=URL)
    job = enqueue(conn, kind="k")
    assert call(conn, "drop_endpoint", pattern="k")[0][0] is True
    assert call(conn, "drop_endpoint", pattern="k")[0][0] is False
    assert rows.live(conn, job).concurrency_key == KEY
    assert key_of(conn, kind="k") is None


BAD = {
    "url": [
        "", "ftp://a.example", "//a.example", "a.example", "http://", "http:///x", "HTTP://a.example", "http://a b/", "http://a.example/a b",
        "http://user@a.example/", "http://user:secret@a.example/", "http://{payload.host}/", "http://a{payload.host}.example/",
        "http://a.example:{payload.port}/", "http://a.example\\@b.example/", "http://a.example:0080/", "http://a.example:123456/",
        "http://a.example:/", "http://a.example:65536/", "http://a.example:70000", "http://a.example:99999/", "http://a.example/#x",
        "http://a.example/{payload.a/b}", "http://a.example/{payload.a?b}", "http://a.example/?x={payload.a/b}", "http://a.example/{payload}", "http://a.example/{other.a}", "http://a.example/{payload.}",
        "http://a.example/{payload..a}", "http://a.example/{payload.a", "http://a.example/payload.a}", "http://a.example/{{payload.a}}",
        "http://a.example/\n", "http://[::1/", "http://[a.example]/", "http://a%2eexample/", "http://" + "a" * 260, "http://" + "a" * 251,
        "http://a.example/" + "x" * 2000, "http://a.example\r\nX: y", "http://a.example?{payload.a}{",
    ],
    "method": ["", "post", "CONNECT", "TRACE", "HEAD"],
    "mode": ["", "Sync", "later"],
    "timeout": ["0", "-1 second", "101 years"],
    "trial_after": [-1],
    "permanent_status": [[299], [600], [404, 600], [404, None], [[400, 401]], [[400], [401]]],
    "headers": [
        [], "x", 1, {"a": 1}, {"a": None}, {"a": {}}, {"a": ["b"]}, {"": "x"}, {"a b": "x"}, {"a:": "x"}, {"é": "x"},
        {"Host": "x"}, {"content-LENGTH": "1"}, {"Transfer-Encoding": "x"}, {"connection": "x"}, {"upgrade": "x"}, {"te": "x"},
        {"trailer": "x"}, {"keep-alive": "x"}, {"Proxy-Authorization": "x"}, {"expect": "x"}, {"a": "x\r\ny: z"}, {"a": "x\ny"},
        {"a": "x\ty"}, {"a\n": "x"}, {"a": "\x7f"}, {"X-A": "x", "x-a": "x"}, {"a": "1", "b": "2", "A": "3"},
    ],
    "secret": [
        "", "s3cret", "env:HOME", "env:TURNSTILE_SECRET_", "env:TURNSTILE_SECRET_A-B", "file:", "file:/etc/passwd", "file:../a", "file:a/../b",
        "file:a/..", "file:..", "file:a\\b", "file:a\nb", "vault:a", "file:" + "a" * 260,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("column", "value"), [(column, value) for column, values in BAD.items() for value in values])
def test_what_is_no_good_is_refused(module_conn, column, value):
    with refused(BAD_VALUE):
        set_endpoint(module_conn, "bad", **{"url": URL, column: value})
    assert endpoint_of(module_conn, "bad") is None


GOOD = {
    "url": [
        "http://a", "http://a-b_c.example:1/x?y=z&{payload.a}", "https://a.example/{payload.a.0.b-c}/{payload.é}", "http://a.example/ü@b:c",
        "http://a.example?{payload.a}", "http://[::1]:8080", "http://a.example:65535", "http://a.example:59999/", "http://a.example:9999",
        "http://" + "a" * 250 + ":80/",
    ],
    "permanent_status": [[], [300, 599]],
    "headers": [{}, {"X-Api": "é !", "Hosts": "x", "a.b": "", "te2": "x", "!#$%&'*+-.^_`|~": "x"}, {"a": "A \"\\ Ä", "b": "a \"\\ ä"}],
    "secret": ["env:TURNSTILE_SECRET_a1", "file:a", "file:a/b..c/..d", "file:.hidden"],
    "timeout": ["1 microsecond", "100 years"],
}  # fmt: skip


@pytest.mark.parametrize(("column", "value"), [(column, value) for column, values in GOOD.items() for value in values])
def test_what_is_unusual_is_kept(module_conn, column, value):
    set_endpoint(module_conn, "good", **{"url": URL, column: value})


def test_a_change_holds_from_its_commit_on_in_every_connection(conn, other):
    assert key_of(other, kind="web.a") is None
    conn.execute("BEGIN")
    set_endpoint(conn, url=URL)
    assert key_of(conn, kind="web.a") == KEY
    assert key_of(other, kind="web.a") is None
    conn.execute("COMMIT")
    assert key_of(other, kind="web.a") == KEY
    conn.execute("UPDATE turnstile.endpoint SET url = 'http://b.example'")
    assert key_of(other, kind="web.a") == "host:b.example"
    conn.execute("DELETE FROM turnstile.endpoint")
    assert key_of(other, kind="web.a") is None
    set_endpoint(conn, url=URL)
    conn.execute("TRUNCATE turnstile.endpoint")
    assert key_of(other, kind="web.a") is None


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s; COMMIT"])
def test_a_change_rolled_back_never_was(conn, undo):
    conn.execute("BEGIN; SAVEPOINT s")
    set_endpoint(conn, url=URL)
    assert key_of(conn, kind="web.a") == KEY
    assert endpoint_of(conn, "web.a").url == URL
    conn.execute(undo)
    assert key_of(conn, kind="web.a") is None
    assert endpoint_of(conn, "web.a") is None


def test_reroute_gives_waiting_jobs_the_key_of_their_host(conn):
    jobs = [enqueue(conn, kind="web.a"), enqueue(conn, kind="web.a", concurrency_key="mine"), enqueue(conn, kind="other")]
    running = claim_next(conn)
    assert running.id == jobs[0]
    jobs.append(enqueue(conn, kind="web.b", run_at="2100-01-01"))
    set_endpoint(conn, url=URL)
    keys = lambda: [rows.live(conn, job).concurrency_key for job in jobs]  # noqa: E731
    assert call(conn, "reroute", pattern="*")[0][0] == 1
    assert keys() == [None, "mine", None, KEY]
    release(conn, running)
    assert call(conn, "reroute", pattern="web.*")[0][0] == 1
    assert keys() == [KEY, "mine", None, KEY]
    set_endpoint(conn, url="http://b.example:81")
    assert call(conn, "reroute", pattern="*")[0][0] == 2
    assert keys() == ["host:b.example:81", "mine", None, "host:b.example:81"]
    assert call(conn, "reroute", pattern="*")[0][0] == 0


def test_reroute_gives_the_key_of_a_route_before_that_of_a_host(conn):
    job = enqueue(conn, kind="web.a")
    set_endpoint(conn, url=URL)
    call(conn, "set_route", pattern="web.a", queue="q", concurrency_key="routed")
    assert call(conn, "reroute", pattern="*")[0][0] == 1
    row = rows.live(conn, job)
    assert (row.queue, row.concurrency_key) == ("q", "routed")
    call(conn, "set_route", pattern="web.a", queue="r", clear=["concurrency_key"])
    assert call(conn, "reroute", pattern="*")[0][0] == 1
    row = rows.live(conn, job)
    assert (row.queue, row.concurrency_key) == ("r", "routed"), "a key that was named stays"


def _run(conn, kind: str = "web.a", **arguments):
    enqueue(conn, kind=kind, **arguments)
    return claim_next(conn)


def test_a_report_reaches_the_key_of_the_endpoint_that_applies_now(conn):
    run = _run(conn)
    report(conn, run, "failing")
    assert slowed(conn) == [], "there is no endpoint"
    set_endpoint(conn, url=URL)
    report(conn, run, "failing")
    assert slowed(conn) == [(KEY, False, True)]
    assert endpoint_of(conn, "web.a").on_trial is True
    report(conn, run, "busy", pause="1 hour")
    assert slowed(conn) == [(KEY, True, True)]
    report(conn, run, "works")
    assert slowed(conn) == [(KEY, True, False)]
    assert endpoint_of(conn, "web.a").on_trial is False


def test_without_a_key_only_gone_counts(conn):
    set_endpoint(conn, url=URL, key_by_host=False)
    run = _run(conn)
    for answer, more in (("failing", {}), ("works", {}), ("busy", {"pause": "1 hour"})):
        report(conn, run, answer, **more)
    assert slowed(conn) == []
    report(conn, run, "gone")
    assert endpoint_of(conn, "web.a").paused is True


def test_an_endpoint_that_wants_no_trials_gets_none(conn):
    set_endpoint(conn, url=URL, trial_after=0)
    report(conn, _run(conn), "failing")
    assert slowed(conn) == []


def test_a_report_by_a_superseded_run_is_refused(conn):
    set_endpoint(conn, url=URL)
    run = _run(conn)
    release(conn, run)
    with refused(WRONG_STATE):
        report(conn, run, "failing")
    again = claim_next(conn)
    assert (again.id, again.attempt) == (run.id, run.attempt + 1)
    with refused(WRONG_STATE):
        report(conn, run, "gone")
    complete(conn, again)
    with refused(WRONG_STATE):
        report(conn, again, "gone")
    with refused(NO_SUCH_JOB):
        report(conn, again._replace(id=10**9), "gone")
    assert slowed(conn) == []
    assert endpoint_of(conn, "web.a").paused is False


@pytest.mark.parametrize("argument", ["job_id", "attempt", "answer"])
def test_a_report_needs_its_arguments(conn, argument):
    set_endpoint(conn, url=URL)
    run = _run(conn)
    with refused(NULL_VALUE):
        call(conn, "report_endpoint", **{"job_id": run.id, "attempt": run.attempt, "answer": "gone", argument: None})
    with refused(NULL_VALUE):
        report(conn, run, "busy")
    for pause in ("0", "-1 second", "1 day 1 microsecond"):
        with refused(BAD_VALUE):
            report(conn, run, "busy", pause=pause)
    with refused(BAD_VALUE):
        report(conn, run, "Gone")
    assert slowed(conn) == []
    report(conn, run, "busy", pause="24 hours")


def test_a_report_needs_no_right_on_a_table_and_work_on_the_queue(conn, role, db):
    set_endpoint(conn, url=URL)
    run = _run(conn)
    enqueue(conn, kind="web.a", queue="else")
    elsewhere = claim_next(conn, "else")
    conn.execute(f"SELECT turnstile.allow_worker('{role}', ARRAY['default'])")
    session = db.connect()
    session.execute(f"SET ROLE {role}")
    for answer, more in (("failing", {}), ("works", {}), ("busy", {"pause": "1 hour"}), ("gone", {})):
        report(session, run, answer, **more)
        with refused(NO_PRIVILEGE):
            report(session, elsewhere, answer, **more)
    assert endpoint_of(session, "web.a").paused is True
    assert slowed(conn) == [(KEY, True, False)]
    for refusal in ("set_endpoint", "drop_endpoint"):
        with pytest.raises(Exception, match="permission denied"):
            call(session, refusal, pattern="web.*")


def test_who_neither_works_nor_manages_sees_no_endpoint(conn, role, db):
    set_endpoint(conn, url=URL)
    conn.execute(f"SELECT turnstile.allow_producer('{role}'); GRANT EXECUTE ON FUNCTION turnstile.endpoint_of TO {role}")
    session = db.connect()
    session.execute(f"SET ROLE {role}")
    with refused(NO_PRIVILEGE):
        endpoint_of(session, "web.a")
    conn.execute(f"INSERT INTO turnstile.permission VALUES ('{role}', 'manage', 'q', 't')")
    assert endpoint_of(session, "web.a").url == URL
    conn.execute(f"UPDATE turnstile.permission SET verb = 'work', tenant = '*' WHERE verb = 'manage' AND role = '{role}'::regrole")
    assert endpoint_of(session, "web.a").url == URL


def test_an_operator_sets_what_others_may_not(conn, role, db):
    conn.execute(f"SELECT turnstile.allow_operator('{role}')")
    session = db.connect()
    session.execute(f"SET ROLE {role}")
    set_endpoint(session, url=URL)
    session.execute("UPDATE turnstile.endpoint SET trial_after = 7")
    assert endpoint_of(session, "web.a").trial_after == 7
    call(session, "pause_concurrency", key=KEY)
    call(session, "resume_concurrency", key=KEY)
    assert call(session, "drop_endpoint", pattern="web.*")[0][0] is True
    conn.execute(f"DELETE FROM turnstile.permission WHERE role = '{role}'::regrole")
    for verb, arguments in (
        ("set_endpoint", {"pattern": "k", "url": URL}), ("drop_endpoint", {"pattern": "k"}),
        ("pause_concurrency", {"key": "k"}), ("resume_concurrency", {"key": "k"}),
    ):  # fmt: skip
        with refused(NO_PRIVILEGE):
            call(session, verb, **arguments)


def test_a_change_of_what_is_slowed_leaves_the_routes_that_backends_keep(conn, other):
    """Only the first enqueue of a session reads the tables: a lock on them then holds up nobody."""
    set_endpoint(conn, url=URL)
    assert key_of(other, kind="web.a") == KEY
    call(conn, "pause_concurrency", key=KEY)
    conn.execute("BEGIN; LOCK turnstile.endpoint, turnstile.route")
    assert key_of(other, kind="web.a") == KEY
    conn.execute("ROLLBACK")


# ---- Trials that nothing can end ------------------------------------------------------------------


def on_trial(conn) -> list:
    return [row[0] for row in conn.execute("SELECT key FROM turnstile.slowed_key WHERE one_at_a_time ORDER BY key")]


@pytest.mark.parametrize("change", [{"url": "http://b.example/"}, {"key_by_host": False}, {"trial_after": 0}, None])
def test_a_trial_ends_with_the_last_endpoint_that_has_trials(conn, change):
    call(conn, "set_endpoint", pattern="one", url="http://a.example/")
    call(conn, "set_endpoint", pattern="two", url="http://a.example/two")
    conn.execute("INSERT INTO turnstile.slowed_key (key, one_at_a_time) VALUES ('host:a.example', true)")
    for pattern, expected in [("one", ["host:a.example"]), ("two", [])]:
        if change is None:
            assert call(conn, "drop_endpoint", pattern=pattern)
        else:
            call(conn, "set_endpoint", pattern=pattern, **change)
        assert on_trial(conn) == expected


def test_headers_are_bounded(conn):
    with refused(BAD_VALUE):
        set_endpoint(conn, url=URL, headers={"a": "x" * 17_000})
