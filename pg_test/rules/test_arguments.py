"""Arguments: NULL in every place, bad values and long ones, each refused with its SQLSTATE, DETAIL and HINT.

The tests of refusals share one database: what is refused leaves no job behind.
"""

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from support import rows
from support.calls import call, claim_next, complete, enqueue, enqueue_many
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused

RUN = {"job_id": 1, "attempt": 1}
FILTER = {
    "queue": "q", "kind": "k", "tenant": "t", "account": "a", "session": "s", "state": "retryable", "older_than": "1 day",
    "max_jobs": 1, "parent": 1, "concurrency_key": "c", "metadata": {"a": 1}, "error": "no",
    "ended_before": "2001-01-01", "first_id": 1, "last_id": 2,
}  # fmt: skip

# A call of each function that is valid in all its arguments, to spoil them one by one.
CALLS = {
    "enqueue": {
        "kind": "work", "payload": {}, "queue": "q", "tenant": "t", "account": "a", "session": "s",
        "concurrency_key": "c", "priority": 0, "run_at": "2001-01-01", "max_attempts": 3,
        "unique_key": "u", "unique_mode": "until_executed", "unique_for": "1 minute", "metadata": {},
    },
    "enqueue_if_new": {"kind": "work", "payload": {}, "unique_key": "u"},
    "enqueue_many": {"jobs": []},
    "claim_next": {"queue": "q", "worker": "w", "lease": "1 minute", "bind_to_connection": False, "wait": "0"},
    "claim": {"queues": ["q"], "max_jobs": 1, "worker": "w", "lease": "1 minute", "bind_to_connection": False, "wait": "0"},
    "claim_own": {"queues": ["q"], "max_jobs": 1, "worker": "w"},
    "complete": RUN | {"result": {}},
    "complete_many": {"job_ids": [1], "attempts": [1], "results": [Jsonb({})]},
    "fail_many": {"job_ids": [1], "attempts": [1], "errors": ["no"], "retry_in": [timedelta(minutes=1)], "discard": [False]},
    "heartbeat_many": {"job_ids": [1], "attempts": [1], "lease": "1 minute", "unbind": True},
    "complete_and_claim_next": RUN | {"result": {}, "queue": "q", "worker": "w", "lease": "1 minute", "bind_to_connection": False, "wait": "0"},
    "complete_and_claim": {
        "job_ids": [1], "attempts": [1], "queues": ["q"], "max_jobs": 1, "worker": "w", "lease": "1 minute",
        "bind_to_connection": False, "wait": "0", "results": [Jsonb({})],
    },
    "fail": RUN | {"error": "no", "retry_in": "1 minute", "discard": False, "error_class": "timeout"},
    "release": RUN,
    "make_history_partitions": {"days_ahead": 7},
    "enable_cron": {"schedule": "* * * * *"},
    "clean_cron_log": {"keep": "3 days"},
    "schedule": {"name": "n", "cron": "* * * * *", "kind": "work", "payload": {}, "queue": "q", "priority": 0,
                 "unique_mode": "until_executed", "unique_by": ["kind"], "time_zone": "Europe/Berlin", "catch_up": "all"},
    "unschedule": {"name": "n"},
    "pause_recurring": {"name": "n", "until": "2100-01-01"},
    "resume_recurring": {"name": "n"},
    "next_firing": {"cron": "* * * * *", "time_zone": "UTC", "after": "2001-01-01"},
    "fire_recurring": {"max_jobs": 1},
    "route_of": {"kind": "work"},
    "reroute": {"pattern": "work", "max_jobs": 1, "from_queue": "q"},
    "set_route": {
        "pattern": "work", "queue": "q", "priority_offset": 1, "override": False, "concurrency_key": "c", "clear": [],
    },
    "drop_route": {"pattern": "work"},
    "endpoint_of": {"kind": "work"},
    "report_endpoint": RUN | {"answer": "busy", "pause": "1 minute"},
    "set_endpoint": {
        "pattern": "work", "url": "http://a.example/", "method": "PUT", "headers": {"a": "b"}, "timeout": "1 minute", "mode": "async",
        "permanent_status": [422], "key_by_host": False, "secret": "env:TURNSTILE_SECRET_A", "allow_private": True,
        "keep_response": True, "cloudevents": True, "trial_after": 1, "paused": True, "clear": [],
    },
    "drop_endpoint": {"pattern": "work"},
    "set_retry_curve": {
        "kind": "work", "error_class": "timeout", "base": "1 minute", "factor": 2, "cap": "1 hour", "jitter": 0.5, "discard": False, "clear": [],
    },
    "drop_retry_curve": {"kind": "work", "error_class": "timeout"},
    "pause_concurrency": {"key": "c", "until": "2001-01-01"},
    "resume_concurrency": {"key": "c"},
    "listen_channel": {"queue": "q"},
    "rescue": {"max_jobs": 1},
    "promote": {"max_jobs": 1},
    "prune_unique_keys": {"max_keys": 1},
    "heartbeat": RUN | {"lease": "1 minute", "unbind": True},
    "progress": RUN | {"done": 1, "total": 2, "message": "half"},
    "snooze": RUN | {"delay": "1 minute"},
    "cancel": {"job_id": 1},
    "why_waiting": {"job_id": 1},
    "why_waiting_many": {"job_ids": [1]},
    "wait_estimate": {"job_id": 1},
    "recent": {"since": "oldest", "max_rows": 1},
    "recent_failures": {"since": 0},
    "running_jobs": {"queue": "q", "max_jobs": 1},
    "discard": RUN | {"error": "no"},
    "retry": {"job_id": 1},
    "reprioritize": {"job_id": 1, "priority": 1},
    "cancel_many": FILTER,
    "discard_many": FILTER,
    "retry_many": FILTER,
    "delete_many": FILTER | {"state": "completed"},
}  # fmt: skip

# NULL stands for "not given" exactly where the documented default is NULL.
NEEDED = {
    "enqueue": ["kind", "payload"],
    "enqueue_if_new": ["kind", "payload"],
    "enqueue_many": ["jobs"],
    "claim_next": ["queue", "bind_to_connection"],
    "claim": ["queues", "max_jobs", "bind_to_connection"],
    "claim_own": ["queues", "max_jobs"],
    "complete": ["job_id", "attempt"],
    "complete_many": ["job_ids", "attempts"],
    "fail_many": ["job_ids", "attempts"],
    "heartbeat_many": ["job_ids", "attempts", "unbind"],
    "complete_and_claim_next": ["job_id", "attempt"],
    "complete_and_claim": ["job_ids", "attempts", "queues", "max_jobs"],
    "fail": ["job_id", "attempt", "discard"],
    "release": ["job_id", "attempt"],
    "make_history_partitions": ["days_ahead"],
    "enable_cron": ["schedule"],
    "clean_cron_log": ["keep"],
    "schedule": ["name", "cron", "kind", "payload", "priority", "catch_up"],
    "unschedule": ["name"],
    "pause_recurring": ["name"],
    "resume_recurring": ["name"],
    "next_firing": ["cron", "after"],
    "fire_recurring": ["max_jobs"],
    "route_of": ["kind"],
    "reroute": ["pattern", "max_jobs"],
    "set_route": ["pattern"],
    "drop_route": ["pattern"],
    "endpoint_of": ["kind"],
    "report_endpoint": ["job_id", "attempt", "answer", "pause"],
    "set_endpoint": ["pattern", "url"],
    "drop_endpoint": ["pattern"],
    "set_retry_curve": ["kind", "error_class"],
    "drop_retry_curve": ["kind", "error_class"],
    "pause_concurrency": ["key"],
    "resume_concurrency": ["key"],
    "listen_channel": ["queue"],
    "rescue": ["max_jobs"],
    "promote": ["max_jobs"],
    "prune_unique_keys": ["max_keys"],
    "heartbeat": ["job_id", "attempt", "unbind"],
    "progress": ["job_id", "attempt", "done"],
    "snooze": ["job_id", "attempt", "delay"],
    "cancel": ["job_id"],
    "why_waiting": ["job_id"],
    "why_waiting_many": ["job_ids"],
    "wait_estimate": ["job_id"],
    "recent": ["max_rows"],
    "running_jobs": ["max_jobs"],
    "discard": ["job_id"],
    "retry": ["job_id"],
    "reprioritize": ["job_id", "priority"],
    "cancel_many": ["max_jobs"],
    "discard_many": ["max_jobs"],
    "retry_many": ["max_jobs"],
    "delete_many": ["max_jobs"],
}

OPTIONAL = [
    (function, argument)
    for function in ("enqueue", "claim_next", "claim", "complete", "complete_and_claim_next", "complete_and_claim", "fail", "complete_many", "fail_many")
    for argument in CALLS[function]
    if argument not in NEEDED[function]
] + [("enqueue", "unique_by")]

NAMES = [
    ("enqueue", name)
    for name in ("kind", "queue", "tenant", "account", "session", "concurrency_key", "unique_key")
] + [
    ("claim_next", "queue"),
    ("complete_and_claim_next", "queue"),
    ("listen_channel", "queue"),
    ("route_of", "kind"),
    ("reroute", "pattern"),
    ("reroute", "from_queue"),
    ("set_route", "pattern"),
    ("set_route", "queue"),
    ("set_route", "concurrency_key"),
    ("drop_route", "pattern"),
    ("endpoint_of", "kind"),
    ("set_endpoint", "pattern"),
    ("drop_endpoint", "pattern"),
    ("fail", "error_class"),
    ("set_retry_curve", "kind"),
    ("set_retry_curve", "error_class"),
    ("drop_retry_curve", "kind"),
    ("pause_concurrency", "key"),
    ("resume_concurrency", "key"),
]


@pytest.fixture(autouse=True)
def _no_job_is_left(request):
    yield
    if "module_conn" in request.fixturenames:
        shared = request.getfixturevalue("module_conn")
        left = rows.everything(shared)
        shared.execute("DELETE FROM turnstile.job")
        assert left == []


@pytest.mark.parametrize(("function", "argument"), [(f, a) for f, needed in NEEDED.items() for a in needed])
def test_null_where_a_value_is_needed_is_refused(module_conn, function, argument):
    with refused(NULL_VALUE):
        call(module_conn, function, **CALLS[function] | {argument: None})


@pytest.mark.parametrize(("function", "argument"), OPTIONAL)
def test_null_where_the_default_is_null_is_the_default(conn, function, argument):
    """Given as NULL or left out, the rows are the same."""
    if function == "enqueue":
        plain = {"kind": "work"}
    else:
        enqueue(conn, queue="q", max_attempts=5)
        enqueue(conn, queue="q", max_attempts=5)
        plain = {"claim": {"queues": ["q"]}, "claim_next": {"queue": "q"}}.get(function)
        if plain is None:
            run = claim_next(conn, "q")
            plain = {"job_id": run.id, "attempt": run.attempt}
        if "job_ids" in CALLS[function]:
            plain = {"job_ids": [run.id], "attempts": [run.attempt]} | ({"queues": ["q"]} if "queues" in CALLS[function] else {})
    outcomes = []
    for arguments in (plain, plain | {argument: None}):
        conn.execute("BEGIN")
        call(conn, function, **arguments)
        outcomes.append(_without_times(conn))
        conn.execute("ROLLBACK")
    assert outcomes[0] == outcomes[1]
    assert outcomes[0], "the call did nothing"


def _without_times(conn):
    return conn.execute(
        "SELECT queue, kind, payload, priority, state::text, tenant, account, session, concurrency_key, attempt,"
        " max_attempts, worker, progress, metadata, result,"
        " (lease_expires_at - claimed_at) IS NULL, jsonb_path_query_array(errors, '$[*].error')"
        " FROM turnstile.jobs ORDER BY id"
    ).fetchall()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("claim", {"queues": ["q", None]}),
        ("claim", {"queues": [None]}),
        ("complete_many", {"job_ids": [1, None], "attempts": [1, 1]}),
        ("complete_many", {"job_ids": [1, 2], "attempts": [None, 1]}),
        ("fail_many", {"job_ids": [1, None], "attempts": [1, 1]}),
        ("fail_many", {"job_ids": [1], "attempts": [None]}),
        ("heartbeat_many", {"job_ids": [1, None], "attempts": [1, 1]}),
        ("why_waiting_many", {"job_ids": [1, None]}),
        ("heartbeat_many", {"job_ids": [1], "attempts": [None]}),
        ("complete_and_claim", {"job_ids": [1, None], "attempts": [1, 1], "queues": []}),
        ("complete_and_claim", {"job_ids": [1], "attempts": [None], "queues": []}),
        ("complete_and_claim", {"job_ids": [], "attempts": [], "queues": ["q", None]}),
        ("enqueue_many", {"jobs": [{"kind": None}]}),
        ("enqueue", {"kind": "work", "unique_by": ["kind", None]}),
    ],
)
def test_null_as_an_array_element_is_refused(module_conn, function, arguments):
    with refused(NULL_VALUE):
        call(module_conn, function, **arguments)


@pytest.mark.parametrize("function", NEEDED)
def test_null_in_every_place_at_once_is_refused(module_conn, function):
    with refused(NULL_VALUE):
        call(module_conn, function, **dict.fromkeys(CALLS[function]))


@pytest.mark.parametrize(("function", "argument"), NAMES)
def test_an_empty_name_is_refused(module_conn, function, argument):
    with refused(BAD_VALUE):
        call(module_conn, function, **CALLS[function] | {argument: ""})


@pytest.mark.parametrize(("function", "argument"), NAMES)
@pytest.mark.parametrize("name", ["n" * 256, "é" * 128], ids=["256 letters", "256 bytes"])
def test_a_name_over_255_bytes_is_refused(module_conn, function, argument, name):
    with refused(TOO_LONG):
        call(module_conn, function, **CALLS[function] | {argument: name})


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, " ", "a\nb", "it's", '"', "%s", "$1", "NULL", "日本"])
def test_any_other_name_is_taken(conn, name):
    names = dict.fromkeys(["kind", "queue", "tenant", "account", "session", "concurrency_key"], name)
    job_id = enqueue(conn, **names)
    row = rows.live(conn, job_id)
    assert {argument: getattr(row, argument) for argument in names} == names
    assert claim_next(conn, name, worker=name).id == job_id


@pytest.mark.parametrize("queue", ["", "q" * 256])
def test_a_bad_name_among_the_queues_is_refused(module_conn, queue):
    with refused(TOO_LONG if queue else BAD_VALUE):
        call(module_conn, "claim", queues=["q", queue])


BAD = [
    ("claim", {"max_jobs": -1}),
    ("claim", {"max_jobs": -(2**31)}),
    ("enqueue", {"unique_mode": "sometimes"}),
    ("enqueue", {"unique_mode": ""}),
    ("enqueue", {"unique_by": ["kind"]}),
    ("enqueue", {"unique_by": [], "unique_key": None}),
    ("enqueue", {"unique_by": ["colour"], "unique_key": None}),
    ("enqueue", {"unique_key": None}),
    ("enqueue", {"unique_for": "0 seconds"}),
    ("enqueue", {"unique_for": "-1 second"}),
    ("enqueue", {"unique_for": "1001 years"}),
    ("enqueue", {"unique_for": None, "unique_mode": "until_expired"}),
    ("enqueue", {"unique_mode": "while_executing"}),
    ("prune_unique_keys", {"max_keys": 0}),
    ("prune_unique_keys", {"max_keys": -1}),
    ("enqueue", {"max_attempts": 0}),
    ("enqueue", {"max_attempts": -1}),
    ("claim", {"lease": "0 seconds"}),
    ("claim_next", {"lease": "-1 second"}),
    ("claim_next", {"wait": "-1 second"}),
    ("claim", {"wait": "-1 microsecond"}),
    ("complete_and_claim_next", {"wait": "-1 day"}),
    ("complete_and_claim", {"wait": "-1 day"}),
    ("complete_and_claim", {"lease": "0"}),
    ("complete_and_claim", {"max_jobs": -1}),
    ("complete_and_claim", {"job_ids": [1, 2]}),
    ("claim_next", {"lease": "110 years"}),
    ("fail", {"retry_in": "-1 second"}),
    ("fail", {"retry_in": "200000 years"}),
    ("rescue", {"max_jobs": -1}),
    ("promote", {"max_jobs": -1}),
    ("heartbeat", {"lease": "0"}),
    ("heartbeat", {"lease": "110 years"}),
    ("snooze", {"delay": "-1 second"}),
    ("snooze", {"delay": "110 years"}),
    ("cancel_many", {"state": "completed"}),
    ("cancel_many", {"max_jobs": -1}),
    ("cancel_many", {"older_than": "-1 second"}),
    ("discard_many", {"state": "running"}),
    ("retry_many", {"state": "running"}),
    ("delete_many", {"state": "running"}),
    ("delete_many", {"state": "retryable"}),
    ("complete_many", {"job_ids": [1, 2], "attempts": [1]}),
    ("complete_many", {"results": []}),
    ("complete_and_claim", {"results": [Jsonb({}), Jsonb({})]}),
    ("fail_many", {"job_ids": [1, 2]}),
    ("fail_many", {"errors": []}),
    ("fail_many", {"retry_in": [timedelta(0), timedelta(0)]}),
    ("fail_many", {"retry_in": [timedelta(seconds=-1)]}),
    ("fail_many", {"discard": [True, None]}),
    ("heartbeat_many", {"job_ids": [1, 2]}),
    ("heartbeat_many", {"lease": "0"}),
    ("complete_many", {"job_ids": [], "attempts": [1]}),
    ("claim", {"lease": "101 years"}),
    ("snooze", {"delay": "101 years"}),
    ("enqueue", {"queue": "*"}),
    ("reroute", {"max_jobs": -1}),
    ("set_route", {"queue": "*"}),
    ("set_endpoint", {"clear": ["url"]}),
    ("set_endpoint", {"url": "gopher://a.example"}),
    ("report_endpoint", {"answer": "well"}),
    ("report_endpoint", {"pause": "0"}),
    ("report_endpoint", {"pause": "-1 second"}),
    ("report_endpoint", {"pause": "24:00:00.000001"}),
    ("pause_concurrency", {"key": "*"}),
    ("set_retry_curve", {"base": "-1 second"}),
    ("set_retry_curve", {"factor": 0.5}),
    ("set_retry_curve", {"factor": float("nan")}),
    ("set_retry_curve", {"cap": "101 years"}),
    ("set_retry_curve", {"jitter": 1.5}),
    ("set_retry_curve", {"clear": ["factor"]}),
    ("set_route", {"clear": ["pattern"]}),
    ("set_route", {"clear": ["queue", None]}),
]


@pytest.mark.parametrize(("function", "bad"), BAD, ids=[f"{function} {bad}" for function, bad in BAD])
def test_a_bad_value_is_refused(module_conn, function, bad):
    with refused(BAD_VALUE):
        call(module_conn, function, **CALLS[function] | bad)


MALFORMED = [
    {}, "text", 7, True, {"kind": "work"},
    [7], ["work"], [[]], [None], [[{"kind": "work"}]],
    [{}], [{"queue": "mail"}], [{"kind": ""}], [{"kind": "work", "queue": ""}],
    [{"kind": "work", "colour": "red"}], [{"kind": "work", "Kind": "x"}],
    [{"kind": "work", "colour": None}], [{"kind": "work", "id": 4}], [{"kind": "work", "state": "running"}],
    [{"kind": 7}], [{"kind": ["work"]}], [{"kind": "work", "queue": 7}], [{"kind": "work", "tenant": {}}],
    [{"kind": "work", "priority": "high"}], [{"kind": "work", "priority": 1.5}], [{"kind": "work", "priority": 2**31}],
    [{"kind": "work", "max_attempts": 0}], [{"kind": "work", "max_attempts": {}}], [{"kind": "work", "run_at": "soon"}],
    [{"kind": "work", "run_at": 7}], [{"kind": "work", "unique_mode": "sometimes"}],
    [{"kind": "work", "queue": "*"}],
]  # fmt: skip


@pytest.mark.parametrize("jobs", MALFORMED, ids=map(str, MALFORMED))
def test_a_malformed_jobs_array_is_refused(module_conn, jobs):
    with refused(BAD_VALUE):
        enqueue_many(module_conn, jobs)


def test_a_json_null_instead_of_the_array_is_refused(module_conn):
    with refused(BAD_VALUE):
        module_conn.execute("SELECT * FROM turnstile.enqueue_many('null'::jsonb)")


@pytest.mark.parametrize("element", [0, 1, 30])
def test_a_malformed_element_is_named_by_its_place(module_conn, element):
    """The DETAIL or the message says which of many elements it was, counted as in `ord`, from 1."""
    jobs = [{"kind": "work"}] * element + [{"kind": "work", "colour": "red"}] + [{"kind": "work"}] * 3
    with refused(BAD_VALUE) as caught:
        enqueue_many(module_conn, jobs)
    said = f"{caught.value.diag.message_primary} {caught.value.diag.message_detail}"
    assert str(element + 1) in said
    assert "colour" in said


def _of_bytes(size: int) -> dict:
    return {"text": "x" * size}


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])
def test_a_payload_over_the_default_limit_is_refused(module_conn, by):
    arguments = {"kind": "work", "payload": _of_bytes(1_048_577)}
    with refused(TOO_LONG):
        if by == "enqueue":
            enqueue(module_conn, **arguments)
        else:
            enqueue_many(module_conn, [{"kind": "work"}, arguments])


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many"])
def test_a_payload_just_under_the_default_limit_is_taken(conn, by):
    arguments = {"kind": "work", "payload": _of_bytes(1_000_000)}
    if by == "enqueue":
        enqueue(conn, **arguments)
    else:
        enqueue_many(conn, [arguments])
    assert claim_next(conn).payload == arguments["payload"]


def test_max_payload_can_be_set(conn):
    conn.execute("SET turnstile.max_payload = 1000")
    with refused(TOO_LONG):
        enqueue(conn, payload=_of_bytes(2000))
    enqueue(conn, payload=_of_bytes(500))
    conn.execute("RESET turnstile.max_payload")
    enqueue(conn, payload=_of_bytes(2000))


def test_a_refused_call_in_a_savepoint_leaves_the_transaction_usable(conn):
    conn.execute("BEGIN")
    first = enqueue(conn)
    for function, bad in BAD:
        with refused(BAD_VALUE), conn.transaction():
            call(conn, function, **CALLS[function] | bad)
    second = enqueue(conn)
    conn.execute("COMMIT")
    assert [claim_next(conn).id, claim_next(conn).id, claim_next(conn)] == [first, second, None]


@pytest.mark.parametrize("priority", [-(2**31), 2**31 - 1])
@pytest.mark.parametrize("max_jobs", [1, 2**31 - 1])
def test_the_ends_of_a_range_are_in_it(conn, priority, max_jobs):
    job_id = enqueue(conn, priority=priority, max_attempts=2**31 - 1)
    [job] = call(conn, "claim", queues=["default"], max_jobs=max_jobs)
    assert (job.id, job.priority) == (job_id, priority)
    assert complete(conn, job, result={"n": priority})
