"""Setters and pauses: what is not named stays, what is new inherits, and nonsense is refused."""

import pytest

from support import rows
from support.calls import call, claim_all, claim_next, enqueue, enqueue_times, ids
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused

SETTERS = {
    "set_queue": ("queue", {"name": "mail"}, "max_running", {"queue": "mail"}),
    "set_tenant": ("tenant", {"name": "acme"}, "slots", {"tenant": "acme"}),
    "set_account": ("account", {"tenant": "acme", "name": "sales"}, "slots", {"tenant": "acme", "account": "sales"}),
    "set_concurrency": ("concurrency", {"key": "smtp"}, "slots", {"concurrency_key": "smtp"}),
}
each_setter = pytest.mark.parametrize("setter", SETTERS)

PAUSES = {
    "queue": ({"name": "mail"}, {"queue": "mail"}),
    "tenant": ({"name": "acme"}, {"tenant": "acme"}),
    "account": ({"tenant": "acme", "name": "sales"}, {"tenant": "acme", "account": "sales"}),
}
each_pause = pytest.mark.parametrize("what", PAUSES)


def _set(conn, setter, **columns):
    _, key, limit, _ = SETTERS[setter]
    named = {limit if name == "limit" else name: value for name, value in columns.items()}
    row = call(conn, setter, **key | named)[0]
    return row._asdict()[limit]


@each_setter
def test_a_limit_holds_from_the_next_claim_on_and_can_be_lifted(conn, setter):
    _, key, limit, behind = SETTERS[setter]
    queue = behind.get("queue", "default")
    enqueue_times(conn, 6, **behind)
    assert _set(conn, setter, limit=1) == 1
    assert len(claim_all(conn, queue)) == 1
    assert _set(conn, setter, limit=3) == 3
    assert len(claim_all(conn, queue)) == 2
    assert _set(conn, setter) == 3, "what is not named stays"
    assert _set(conn, setter, clear=[limit]) is None
    assert len(claim_all(conn, queue)) == 3


@each_setter
@pytest.mark.parametrize("bad", [{"limit": -2}, {"rate": 0}, {"burst": -1}, {"clear": ["gate"]}, {"clear": [None]}])
def test_nonsense_is_refused_and_changes_nothing(conn, setter, bad):
    table = SETTERS[setter][0]
    before = conn.execute(f"SELECT * FROM turnstile.{table}").fetchall()
    with refused(BAD_VALUE):
        _set(conn, setter, **bad)
    assert conn.execute(f"SELECT * FROM turnstile.{table}").fetchall() == before


@each_setter
@pytest.mark.parametrize("option", [{"rate_per": "1 minute"}, {"burst": 5}], ids=str)
def test_the_interval_and_the_burst_of_a_rate_need_one(conn, setter, option):
    with refused(BAD_VALUE):
        _set(conn, setter, **option)
    with refused(BAD_VALUE):
        _set(conn, setter, rate=-1, **option)
    _set(conn, setter, rate=3, **option)
    _set(conn, setter, **option)
    with refused(BAD_VALUE):
        _set(conn, setter, clear=["rate"], **option)
    _set(conn, setter, clear=["rate"])


@each_setter
@pytest.mark.parametrize("option", [{"rate_per": "1 minute"}, {"burst": 5}], ids=str)
def test_an_inherited_rate_will_do_and_the_default_row_needs_none(conn, setter, option):
    """Others inherit from that row, and may have a rate of their own."""
    last = list(SETTERS[setter][1])[-1]
    call(conn, setter, **SETTERS[setter][1] | {last: "*"} | option)
    with refused(BAD_VALUE):
        _set(conn, setter, **option)
    call(conn, setter, **SETTERS[setter][1] | {last: "*"}, rate=3)
    _set(conn, setter, **option)
    with refused(BAD_VALUE):
        _set(conn, setter, rate=-1, **option)


@pytest.mark.parametrize(
    "bad",
    [
        {"policy": "random"}, {"lease": "0"}, {"max_attempts": 0}, {"retry_base": "-1 s"}, {"retry_cap": "-1 s"},
        {"session_on_retry": "never"}, {"keep_completed": "-1 day"}, {"keep_discarded": "-1 day"},
    ],
)  # fmt: skip
def test_nonsense_for_a_queue_is_refused(module_conn, bad):
    with refused(BAD_VALUE) as caught:
        call(module_conn, "set_queue", name="mail", **bad)
    assert f"queue_{next(iter(bad))}_check" in caught.value.diag.message_primary


def test_a_weight_of_nought_is_refused(module_conn):
    with refused(BAD_VALUE):
        call(module_conn, "set_tenant", name="acme", weight=0)


@each_setter
def test_a_plain_update_is_refused_by_the_same_rule(conn, setter):
    table, _, limit, _ = SETTERS[setter]
    _set(conn, setter)
    with pytest.raises(Exception, match=f"{table}_{limit}_check") as caught:
        conn.execute(f"UPDATE turnstile.{table} SET {limit} = -2")
    assert caught.value.sqlstate == "23514"


@each_setter
def test_a_name_is_needed(module_conn, setter):
    key = SETTERS[setter][1]
    for argument in key:
        for value, code in ((None, NULL_VALUE), ("", BAD_VALUE), ("n" * 256, TOO_LONG)):
            with refused(code):
                call(module_conn, setter, **key | {argument: value})


@each_setter
def test_a_setter_rolled_back_never_was(conn, other, setter):
    _, _, _, behind = SETTERS[setter]
    queue = behind.get("queue", "default")
    enqueue_times(conn, 2, **behind)
    conn.execute("BEGIN")
    _set(conn, setter, limit=0)
    assert claim_next(other, queue) is not None
    conn.execute("ROLLBACK")
    assert claim_next(other, queue) is not None


@each_pause
def test_a_pause_lasts_until_it_is_resumed_and_keeps_the_limits(conn, what):
    key, behind = PAUSES[what]
    queue = behind.get("queue", "default")
    limit = "max_running" if what == "queue" else "slots"
    call(conn, f"set_{what}", **key | {limit: 2})
    enqueued = enqueue_times(conn, 3, **behind)
    call(conn, f"pause_{what}", **key)
    assert claim_all(conn, queue) == []
    call(conn, f"pause_{what}", **key)
    free = enqueue(conn, queue="elsewhere")
    assert claim_next(conn, "*").id == free
    call(conn, f"resume_{what}", **key)
    assert ids(claim_all(conn, queue)) == enqueued[:2]
    call(conn, f"resume_{what}", **key)


@each_pause
@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_pause_needs_a_name(module_conn, what, verb):
    key, _ = PAUSES[what]
    for argument in key:
        for value, code in ((None, NULL_VALUE), ("", BAD_VALUE), ("n" * 256, TOO_LONG)):
            with refused(code):
                call(module_conn, f"{verb}_{what}", **key | {argument: value})


@each_pause
def test_a_pause_until_a_time_ends_by_itself(conn, what):
    key, behind = PAUSES[what]
    queue = behind.get("queue", "default")
    enqueued = enqueue_times(conn, 2, **behind)
    call(conn, f"pause_{what}", **key, until="2100-01-01")
    assert claim_all(conn, queue) == []
    call(conn, f"pause_{what}", **key, until=rows.clock(conn))
    assert ids(claim_all(conn, queue)) == enqueued


@each_pause
def test_the_last_pause_counts(conn, what):
    key, behind = PAUSES[what]
    job_id = enqueue(conn, **behind)
    call(conn, f"pause_{what}", **key, until="2100-01-01")
    call(conn, f"pause_{what}", **key)
    call(conn, f"resume_{what}", **key)
    assert claim_next(conn, behind.get("queue", "default")).id == job_id


@pytest.mark.parametrize("tenant", [None, "acme"])
def test_a_paused_session_starts_nothing_and_hides_no_other_job(conn, tenant):
    name = {"queue": "mail", "tenant": tenant, "session": "s"}
    held = [enqueue(conn, **name) for _ in range(2)]
    call(conn, "pause_session", **name)
    free = [enqueue(conn, **name | {"session": "other"}), enqueue(conn, queue="mail", tenant="globex", session="s")]
    assert ids(claim_all(conn, "mail")) == free
    call(conn, "pause_session", **name, until="2100-01-01")
    assert claim_next(conn, "mail") is None
    call(conn, "resume_session", **name)
    run = claim_next(conn, "mail")
    assert run.id == held[0]
    call(conn, "pause_session", **name)
    call(conn, "complete", job_id=run.id, attempt=run.attempt)
    assert claim_next(conn, "mail") is None
    call(conn, "pause_session", **name, until=rows.clock(conn))
    assert claim_next(conn, "mail").id == held[1]


@pytest.mark.parametrize("verb", ["pause_session", "resume_session"])
def test_a_paused_session_needs_its_names(module_conn, verb):
    name = {"queue": "mail", "tenant": "acme", "session": "s"}
    for argument in name:
        for value, code in ((None, NULL_VALUE), ("", BAD_VALUE), ("n" * 256, TOO_LONG)):
            if (argument, value) != ("tenant", None):
                with refused(code):
                    call(module_conn, verb, **name | {argument: value})
