"""Options that say something about another one are refused without it."""

import json

import pytest

from support import rows
from support.calls import call, claim_next, enqueue, enqueue_many
from support.errors import BAD_VALUE, refused

LONELY = {
    "account": {"account": "a"},
    "unique_mode": {"unique_mode": "until_executed"},
    "unique_mode replace": {"unique_mode": "replace"},
    "unique_for": {"unique_for": "1 hour"},
    "unique_states": {"unique_states": ["available"]},
    "after_any_end": {"after_any_end": True},
    "after_hold": {"after_hold": True},
    "after_hold beside none": {"after_hold": True, "after": []},
}
each = pytest.mark.parametrize("options", LONELY.values(), ids=LONELY.keys())


@each
@pytest.mark.parametrize("function", ["enqueue", "enqueue_if_new", "enqueue_batch"])
def test_a_producer_is_told(module_conn, function, options):
    with refused(BAD_VALUE):
        call(module_conn, function, kind="work", **options)


@each
def test_an_element_is_named(module_conn, options):
    with refused(BAD_VALUE) as caught:
        enqueue_many(module_conn, [{"kind": "work"}, {"kind": "work"} | options])
    assert "2" in caught.value.diag.message_primary
    with refused(BAD_VALUE):
        call(module_conn, "enqueue_batch", kind="report", children=f"[{json.dumps({'kind': 'part'} | options)}]")


def test_nothing_is_left_of_a_refused_array(conn):
    with refused(BAD_VALUE):
        enqueue_many(conn, [{"kind": "work"}, {"kind": "work", "account": "a"}])
    with refused(BAD_VALUE):
        enqueue_many(conn, [{"kind": "work", "unique_key": "k"}, {"kind": "work", "account": "a"}])
    assert rows.everything(conn) == []


def test_the_tenant_of_the_parent_will_do(conn):
    call(conn, "enqueue_batch", kind="report", tenant="acme", children='[{"kind": "part", "account": "a"}]')
    child = claim_next(conn)
    assert (child.tenant, child.account) == ("acme", "a")
    assert enqueue(conn, parent=child.id, account="b") > child.id
    [(_, _, created)] = enqueue_many(conn, [{"kind": "part", "parent": child.id, "account": "c"}])
    assert created


def test_a_parent_without_a_tenant_gives_none(conn):
    enqueue(conn)
    run = claim_next(conn)
    with refused(BAD_VALUE):
        enqueue(conn, parent=run.id, account="a")


def test_flags_that_are_off_need_nothing(conn):
    assert enqueue(conn, after_any_end=False, after_hold=False) > 0
    before = enqueue(conn)
    assert enqueue(conn, after=[before], after_any_end=True) > before
    made = enqueue_many(conn, [{"kind": "a", "ref": "r"}, {"kind": "b", "after_refs": ["r"], "after_hold": True}])
    assert [row.created for row in made] == [True, True]


@pytest.mark.parametrize("options", [{"rate_per": "1 minute"}, {"burst": 5}], ids=str)
def test_a_batch_without_a_rate_has_neither_its_interval_nor_a_burst(conn, options):
    with refused(BAD_VALUE):
        call(conn, "enqueue_batch", kind="report", **options)
    [(job_id,)] = call(conn, "enqueue_batch", kind="report", children='[{"kind": "part"}]')
    with refused(BAD_VALUE):
        call(conn, "set_batch", id=job_id, **options)
    call(conn, "set_batch", id=job_id, rate=3, **options)
    call(conn, "set_batch", id=job_id, **options)
    with refused(BAD_VALUE):
        call(conn, "set_batch", id=job_id, clear=["rate"], **options)


@pytest.mark.parametrize("answer", ["works", "failing", "gone"])
def test_a_pause_is_that_of_a_busy_endpoint(conn, answer):
    enqueue(conn)
    run = claim_next(conn)
    with refused(BAD_VALUE):
        call(conn, "report_endpoint", job_id=run.id, attempt=run.attempt, answer=answer, pause="1 minute")


@pytest.mark.parametrize("name", ["account", "unique_mode", "unique_for", "unique_states"])
def test_a_schedule_is_refused_what_its_firings_would_be(conn, name):
    with refused(BAD_VALUE):
        call(conn, "schedule", name="n", cron="@daily", kind="work", **LONELY[name])
    assert conn.execute("SELECT count(*) FROM turnstile.recurring").fetchone() == (0,)
