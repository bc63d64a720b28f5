"""Arguments of the functions of batches: NULL in every place, bad values, and what they belong to unknown or ended."""

import pytest
from psycopg.types.json import Jsonb

from support import rows
from support.batches import callback_of, claim_just, complete_all, ends_as, enqueue_batch, of, set_batch
from support.calls import call, cancel, complete, enqueue, enqueue_many
from support.database import fresh_database
from support.errors import BAD_VALUE, NO_SUCH_JOB, NULL_VALUE, TOO_LONG, WRONG_STATE, refused

# A call of each function that is valid in all its arguments, to spoil them one by one.
CALLS = {
    "enqueue": {"kind": "work", "parent": 1, "after": [1], "after_any_end": False, "after_hold": False},
    "enqueue_batch": {
        "kind": "work", "payload": {}, "children": Jsonb([]), "slots": 1, "rate": 1, "rate_per": "1 minute", "burst": 1,
        "max_failed": 1, "on_end": "run", "queue": "q", "tenant": "t", "account": "a", "session": "s", "concurrency_key": "c",
        "priority": 0, "run_at": "2001-01-01", "max_attempts": 3, "unique_key": "u", "unique_mode": "until_executed",
        "unique_for": "1 minute", "metadata": {}, "parent": 1, "after": [1], "after_any_end": False, "after_hold": False,
    },
    "await_children": {"job_id": 1, "attempt": 1},
    "set_batch": {
        "id": 1, "slots": 1, "rate": 1, "rate_per": "1 minute", "burst": 1, "paused": False, "priority": 1, "max_failed": 1,
        "clear": [],
    },
    "batch_results": {"id": 1},
}  # fmt: skip
NEEDED = {
    "enqueue": ["after_any_end", "after_hold"],
    "enqueue_batch": [
        "kind", "payload", "children", "on_end", "after_any_end", "after_hold",
    ],
    "await_children": ["job_id", "attempt"],
    "set_batch": ["id"],
    "batch_results": ["id"],
}  # fmt: skip
OPTIONAL = [
    (function, argument)
    for function in ("enqueue", "enqueue_batch")
    for argument in CALLS[function]
    if argument not in NEEDED[function] and argument != "kind"
]


@pytest.mark.parametrize(("function", "argument"), [(f, a) for f, needed in NEEDED.items() for a in needed])
def test_null_where_a_value_is_needed_is_refused(module_conn, function, argument):
    with refused(NULL_VALUE):
        call(module_conn, function, **CALLS[function] | {argument: None})
    assert rows.everything(module_conn) == []


@pytest.mark.parametrize("function", NEEDED)
def test_null_in_every_place_at_once_is_refused(module_conn, function):
    with refused(NULL_VALUE):
        call(module_conn, function, **dict.fromkeys(CALLS[function]))


@pytest.mark.parametrize("arguments", [("NULL", "'1 s'"), ("1", "NULL")])
def test_null_for_wait_for_end_is_refused(module_conn, arguments):
    with refused(NULL_VALUE):
        module_conn.execute(f"CALL turnstile.wait_for_end({', '.join(arguments)})")


@pytest.mark.parametrize(("function", "argument"), OPTIONAL)
def test_null_where_the_default_is_null_is_the_default(conn, function, argument):
    """Given as NULL or left out, the rows are the same."""
    plain = {"kind": "work"} | ({"children": Jsonb(of(2))} if function == "enqueue_batch" else {})
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
        "SELECT j.queue, j.kind, j.payload, j.priority, j.state, j.tenant, j.account, j.session, j.concurrency_key,"
        " j.max_attempts, j.metadata, j.parent IS NULL, b.slots, b.rate, b.rate_per, b.burst, b.max_failed, b.on_end"
        " FROM turnstile.job j LEFT JOIN turnstile.batch b USING (id) ORDER BY j.id"
    ).fetchall()


@pytest.mark.parametrize("by", ["enqueue", "enqueue_batch"])
def test_null_among_the_predecessors_is_refused(module_conn, by):
    with refused(NULL_VALUE):
        call(module_conn, by, kind="work", after=[None])


BAD = [
    {"on_end": ""}, {"on_end": "sometimes"}, {"slots": -1}, {"rate": 0}, {"rate": -1}, {"burst": 0}, {"burst": -1},
    {"rate": 1, "rate_per": "0"}, {"rate": 1, "rate_per": "-1 s"}, {"rate": 1, "rate_per": "101 years"}, {"max_failed": -1},
    {"kind": ""}, {"queue": ""}, {"tenant": ""}, {"session": ""}, {"queue": "*"}, {"max_attempts": 0},
    {"unique_mode": "sometimes"}, {"parent": 0}, {"parent": -1},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=map(str, BAD))
def test_a_bad_value_is_refused_and_adds_nothing(module_conn, bad):
    with pytest.raises(Exception) as caught:
        enqueue_batch(module_conn, **{"children": of(2)} | bad)
    # No job has such an id.
    assert caught.value.sqlstate in ((BAD_VALUE, NO_SUCH_JOB) if "parent" in bad else (BAD_VALUE,))
    assert rows.everything(module_conn) == []


@pytest.mark.parametrize("argument", ["kind", "queue", "tenant", "account", "session", "concurrency_key", "unique_key"])
def test_a_name_over_255_bytes_is_refused(module_conn, argument):
    with refused(TOO_LONG):
        enqueue_batch(module_conn, **{argument: "n" * 256})


MALFORMED = [
    {}, "text", 7, True, None, [7], ["work"], [[]], [None], [{}], [{"queue": "mail"}], [{"kind": ""}], [{"kind": 7}],
    [{"kind": "work", "colour": "red"}], [{"kind": "work", "state": "running"}], [{"kind": "work", "parent": 1}],
    [{"kind": "work", "priority": "high"}], [{"kind": "work", "max_attempts": 0}], [{"kind": "work", "slots": 1}],
]  # fmt: skip


@pytest.mark.parametrize("children", MALFORMED, ids=map(str, MALFORMED))
def test_malformed_children_are_refused_and_add_nothing(module_conn, children):
    malformed = [*of(1), *children] if isinstance(children, list) else children
    with refused(BAD_VALUE):
        call(module_conn, "enqueue_batch", kind="work", children=Jsonb(malformed))
    assert rows.everything(module_conn) == []


def test_the_malformed_child_is_named_by_its_place(module_conn):
    with refused(BAD_VALUE) as caught:
        enqueue_batch(module_conn, children=[*of(30), {"kind": "work", "colour": "red"}, *of(3)])
    said = f"{caught.value.diag.message_primary} {caught.value.diag.message_detail}"
    assert "31" in said
    assert "colour" in said


# ---- set_batch and its row ------------------------------------------------------------------------

SETTINGS = [
    {"slots": -1}, {"rate": 0}, {"rate": -1}, {"burst": 0}, {"rate_per": "0"}, {"rate_per": "-1 s"}, {"rate_per": "101 years"},
    {"max_failed": -1},
]  # fmt: skip


@pytest.fixture(scope="module")
def batch():
    """A live batch, in a database that only refusals share."""
    with fresh_database() as database:
        conn = database.connect()
        yield conn, enqueue_batch(conn, children=of(2))


@pytest.mark.parametrize("bad", [*SETTINGS, {"clear": ["id"]}, {"clear": ["paused"]}, {"clear": ["slots", None]}], ids=str)
def test_a_bad_setting_is_refused_and_changes_nothing(batch, bad):
    conn, parent = batch
    before = conn.execute("SELECT * FROM turnstile.batch").fetchall()
    with refused(BAD_VALUE):
        set_batch(conn, parent, **bad)
    assert conn.execute("SELECT * FROM turnstile.batch").fetchall() == before


@pytest.mark.parametrize("bad", SETTINGS, ids=str)
def test_a_plain_update_is_refused_by_the_same_rule(batch, bad):
    conn, parent = batch
    [(column, value)] = bad.items()
    with pytest.raises(Exception) as caught:
        conn.execute(f"UPDATE turnstile.batch SET {column} = %s WHERE id = %s", [value, parent])
    assert caught.value.sqlstate == "23514"


def _ended(conn) -> int:
    batch = enqueue_batch(conn, children=of(1))
    complete_all(conn, claim_just(conn, 1))
    complete(conn, callback_of(conn, batch))
    return batch


def _cancelled(conn) -> int:
    batch = enqueue_batch(conn, children=of(1))
    cancel(conn, batch)
    ends_as(conn, batch, "cancelled")
    return batch


@pytest.mark.parametrize("job", [_ended, _cancelled, lambda conn: 10**9], ids=["ended", "cancelled", "unknown"])
def test_settings_of_what_is_no_live_batch_are_refused(conn, job):
    with refused(NO_SUCH_JOB):
        set_batch(conn, job(conn), slots=1)


def test_the_end_is_not_waited_for_in_a_transaction(conn):
    job = enqueue(conn)
    with pytest.raises(Exception) as caught, conn.transaction():
        conn.execute("CALL turnstile.wait_for_end(%s, '1 s')", [job])
    assert caught.value.sqlstate == "25001"


@pytest.mark.parametrize("timeout", ["-1 s", "102 years"])
def test_a_bad_timeout_is_refused(conn, timeout):
    job = _ended(conn)
    with refused(BAD_VALUE):
        conn.execute("CALL turnstile.wait_for_end(%s, %s)", [job, timeout])


def test_only_runs_step_aside(conn):
    batch = enqueue_batch(conn, children=of(1))
    waiting = enqueue(conn)
    for job in (batch, waiting):
        with refused(WRONG_STATE):
            call(conn, "await_children", job_id=job, attempt=1)
    with refused(NO_SUCH_JOB):
        call(conn, "await_children", job_id=10**9, attempt=1)


@pytest.mark.parametrize("parent", [None, 10**9])
def test_a_parent_of_the_array_may_be_null_but_not_unknown(conn, parent):
    jobs = [{"kind": "work", "parent": parent}]
    if parent is None:
        assert rows.live(conn, enqueue_many(conn, jobs)[0].id).parent is None
    else:
        with refused(NO_SUCH_JOB):
            enqueue_many(conn, jobs)


@pytest.mark.parametrize("column", ["parent = 0", "parent = -1"])
def test_a_parent_is_a_positive_number(conn, column):
    job = enqueue(conn)
    with pytest.raises(Exception) as caught:
        conn.execute(f"UPDATE turnstile.job SET {column} WHERE id = %s", [job])
    assert caught.value.sqlstate in ("23514", BAD_VALUE, NO_SUCH_JOB)
