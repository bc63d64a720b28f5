"""A column of settings that is NULL is inherited from the row *, from the commit of a change on; "no limit" is a value of its own."""

import pytest

from support.calls import call, claim_all, claim_next, enqueue, enqueue_times, fail, ids
from support.errors import BAD_VALUE, FULL, refused
from support.gates import GATES

each_gate = pytest.mark.parametrize("gate", GATES.values(), ids=GATES)

_NAME = {"account": ("tenant", "name"), "concurrency": ("key",)}
OTHER = {"clear": ["burst"]}  # Makes a row that inherits the limit.


def _set(conn, gate, key, **columns):
    named = {gate.column if name == "limit" else name: value for name, value in columns.items()}
    return call(conn, f"set_{gate.table}", **dict(zip(_NAME.get(gate.table, ("name",)), key, strict=True)), **named)[0]


@each_gate
def test_a_new_row_has_only_what_was_given(conn, gate):
    _set(conn, gate, gate.default_key, limit=7, rate=5, rate_per="1 hour")
    row = _set(conn, gate, gate.key, burst=3)._asdict()
    assert (row[gate.column], row["rate"], row["rate_per"], row["burst"]) == (None, None, None, 3)


@each_gate
def test_a_change_of_the_default_reaches_those_that_inherit_it(conn, other, gate):
    """Also once their limit is known, and at the commit."""
    _set(conn, gate, gate.default_key, limit=1)
    _set(conn, gate, gate.key, **OTHER)
    enqueue_times(conn, 9, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 1
    _set(conn, gate, gate.default_key, limit=3)
    assert len(claim_all(conn, gate.queue)) == 2
    with other.transaction():
        _set(other, gate, gate.default_key, limit=-1)
        assert claim_next(conn, gate.queue) is None
    assert call(conn, "check") == []
    assert len(claim_all(conn, gate.queue)) == 6
    assert call(conn, "check") == []


@each_gate
def test_a_change_that_is_rolled_back_reaches_nobody(conn, gate):
    _set(conn, gate, gate.default_key, limit=1)
    _set(conn, gate, gate.key, **OTHER)
    enqueue_times(conn, 3, **gate.behind)
    with conn.transaction():
        conn.execute("SAVEPOINT a")
        _set(conn, gate, gate.default_key, limit=2)
        conn.execute("ROLLBACK TO a")
    assert len(claim_all(conn, gate.queue)) == 1
    assert call(conn, "check") == []


@each_gate
def test_own_wins_no_limit_is_own_and_clear_inherits_again(conn, gate):
    _set(conn, gate, gate.default_key, limit=2)
    enqueue_times(conn, 9, **gate.behind)
    _set(conn, gate, gate.key, limit=1)
    assert len(claim_all(conn, gate.queue)) == 1
    _set(conn, gate, gate.key, clear=[gate.column])
    assert len(claim_all(conn, gate.queue)) == 1
    _set(conn, gate, gate.key, limit=-1)
    assert len(claim_all(conn, gate.queue)) == 7
    assert call(conn, "check") == []


@each_gate
def test_without_a_default_row_there_is_no_limit(conn, gate):
    _set(conn, gate, gate.default_key, limit=1)
    _set(conn, gate, gate.key, **OTHER)
    enqueue_times(conn, 3, **gate.behind)
    conn.execute(f"DELETE FROM turnstile.{gate.table} WHERE {_NAME.get(gate.table, ('name',))[-1]} = '*'")
    assert len(claim_all(conn, gate.queue)) == 3
    assert call(conn, "check") == []


def test_an_account_inherits_from_its_tenant_then_from_all(conn):
    call(conn, "set_account", tenant="*", name="*", slots=2, rate=100, rate_per="1 minute")
    call(conn, "set_account", tenant="acme", name="*", slots=3, burst=50)
    call(conn, "set_account", tenant="acme", name="sales", rate_per="1 hour")
    rows = dict((row[:2], row[2:]) for row in conn.execute(
        "SELECT tenant, name, slots, rate, extract(epoch FROM rate_per)::int, burst FROM turnstile.account_in_force"))  # fmt: skip
    assert rows == {("*", "*"): (2, 100, 60, 1), ("acme", "*"): (3, 100, 60, 50), ("acme", "sales"): (3, 100, 3600, 50)}
    enqueue_times(conn, 6, tenant="acme", account="sales")
    call(conn, "set_account", tenant="acme", name="*", rate=-1)
    assert len(claim_all(conn)) == 3
    call(conn, "set_account", tenant="acme", name="*", clear=["slots"])
    conn.execute("DELETE FROM turnstile.account WHERE name = 'sales'")
    assert call(conn, "check") == []
    call(conn, "set_account", tenant="*", name="*", slots=5)
    assert len(claim_all(conn)) == 2, "the row (acme, *) inherits, and holds for its accounts"


# What no gate has: the statement that shows it, and its values by the default, by another default, and its own.
def _lease(conn, queue):
    job = claim_next(conn, queue)
    return conn.execute(
        "SELECT extract(epoch FROM lease_expires_at - claimed_at)::int FROM turnstile.job WHERE id = %s", [job.id]
    ).fetchone()[0]


def _attempts(conn, queue):
    return conn.execute("SELECT max_attempts FROM turnstile.job WHERE id = %s", [enqueue(conn, queue=queue)]).fetchone()[0]


def _heartbeat(conn, queue):
    job = claim_next(conn, queue)
    call(conn, "heartbeat", job_id=job.id, attempt=job.attempt)
    seconds = "round(extract(epoch FROM lease_expires_at - clock_timestamp()) / 60) * 60"
    return conn.execute(f"SELECT ({seconds})::int FROM turnstile.job WHERE id = %s", [job.id]).fetchone()[0]


def _wait(conn, queue):
    job = claim_next(conn, queue)
    fail(conn, job, error="no")
    seconds = "round(extract(epoch FROM run_at - clock_timestamp()) / 60) * 60"
    return conn.execute(f"SELECT ({seconds})::int FROM turnstile.job WHERE id = %s", [job.id]).fetchone()[0]


@pytest.mark.parametrize(
    ("column", "look", "values"),
    [("lease", _lease, (60, 120, 180)), ("lease", _heartbeat, (60, 120, 180)), ("max_attempts", _attempts, (3, 4, 5)),
     ("retry_cap", _wait, (60, 120, 180))],
)  # fmt: skip
def test_other_columns_are_inherited_too(conn, column, look, values):
    call(conn, "set_queue", name="*", retry_base="1 hour")
    call(conn, "set_queue", name="mail", max_running=-1)
    enqueue_times(conn, 9, queue="mail")
    default, another, own = (value if column == "max_attempts" else f"{value} seconds" for value in values)
    call(conn, "set_queue", name="*", **{column: default})
    assert look(conn, "mail") == values[0]
    call(conn, "set_queue", name="*", **{column: another})
    assert look(conn, "mail") == values[1]
    call(conn, "set_queue", name="mail", **{column: own})
    assert look(conn, "mail") == values[2]
    call(conn, "set_queue", name="mail", clear=[column])
    assert look(conn, "mail") == values[1]


def test_session_on_retry_is_inherited(conn):
    call(conn, "set_queue", name="*", session_on_retry="pass")
    call(conn, "set_queue", name="mail", lease="1 hour")
    first, second = enqueue_times(conn, 2, queue="mail", session="s")
    fail(conn, claim_next(conn, "mail"), error="no")
    assert ids(claim_all(conn, "mail")) == [second]
    assert first != second


def test_a_bound_of_the_default_is_inherited(conn, other):
    call(conn, "set_tenant", name="acme", weight=2)
    call(conn, "set_tenant", name="*", max_waiting=1)
    enqueue(conn, tenant="acme")
    for connection in (conn, other):
        with refused(FULL):
            enqueue(connection, tenant="acme")
    call(conn, "set_tenant", name="*", max_waiting=-1)
    enqueue(other, tenant="acme")


def test_the_weight_and_the_policy_are_inherited(conn):
    call(conn, "set_queue", name="*", policy="fair")
    call(conn, "set_queue", name="mail", lease="1 hour")
    call(conn, "set_tenant", name="*", weight=3)
    call(conn, "set_tenant", name="a", slots=100)
    call(conn, "set_tenant", name="b", weight=1)
    for tenant in ("a", "b"):
        enqueue_times(conn, 8, queue="mail", tenant=tenant)
    taken = [claim_next(conn, "mail").tenant for _ in range(8)]
    assert (taken.count("a"), taken.count("b")) == (6, 2)
    assert call(conn, "check") == []


def test_aging_of_the_default_can_be_switched_off(conn):
    call(conn, "set_queue", name="*", aging="1 minute")
    call(conn, "set_queue", name="mail", aging="0")
    in_force = "SELECT aging IS NULL FROM turnstile.queues WHERE name = %s"
    enqueue(conn, queue="other")
    assert [conn.execute(in_force, [name]).fetchone()[0] for name in ("mail", "other")] == [True, False]
    call(conn, "set_queue", name="mail", clear=["aging"])
    assert conn.execute(in_force, ["mail"]).fetchone()[0] is False


@pytest.mark.parametrize("keep", ["keep_completed", "keep_discarded"])
def test_to_keep_forever_is_a_value(conn, keep):
    in_force = f"SELECT {keep}::text FROM turnstile.queue_in_force WHERE name = 'mail'"
    call(conn, "set_queue", name="mail", lease="1 hour")
    assert conn.execute(in_force).fetchone()[0] == "7 days"
    call(conn, "set_queue", name="*", **{keep: "1 day"})
    assert conn.execute(in_force).fetchone()[0] == "1 day"
    call(conn, "set_queue", name="mail", **{keep: "-1"})
    assert conn.execute(in_force).fetchone()[0] is None
    for bad in ("-1 day", "-2"):
        with refused(BAD_VALUE):
            call(conn, "set_queue", name="mail", **{keep: bad})


def test_without_the_default_row_nothing_leaves_the_history(conn):
    """A restore brings the row after the history."""
    call(conn, "set_queue", name="mail", lease="1 hour")
    conn.execute("DELETE FROM turnstile.queue WHERE name = '*'")
    rows = conn.execute("SELECT name, keep_completed, keep_discarded, max_attempts, notify FROM turnstile.queue_in_force").fetchall()
    assert sorted(rows) == [("*", None, None, 25, True), ("mail", None, None, 25, True)]


def test_a_pause_of_the_default_is_not_inherited_but_a_new_row_keeps_it(conn):
    call(conn, "set_queue", name="mail", max_running=5)
    call(conn, "pause_queue", name="*")
    for queue in ("mail", "other"):
        enqueue(conn, queue=queue)
    assert claim_next(conn, "mail") and claim_next(conn, "other") is None
    call(conn, "set_queue", name="other", max_running=5)
    assert claim_next(conn, "other") is None, "a limit that is set ends no pause"
    call(conn, "resume_queue", name="other")
    assert claim_next(conn, "other")
