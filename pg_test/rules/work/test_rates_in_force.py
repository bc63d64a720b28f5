"""A rate begins with its burst only where none was in force for the name before, whatever row says the one and the other."""

import contextlib
from dataclasses import dataclass, replace

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from support.calls import call, claim_all, enqueue_times
from support.gates import ACCOUNT, GATES, Gate
from support.settings import configure, unconfigure

RATE = {"rate": 1, "rate_per": "1 hour", "burst": 2}
MORE = {"rate": 1, "rate_per": "1 hour", "burst": 9}
INHERITED = {"rate": None, "rate_per": None, "burst": None}

# An account may inherit from two rows.
ALL = GATES | {"account of a tenant with a default": replace(ACCOUNT, default_key=("acme", "*"))}
each_gate = pytest.mark.parametrize("gate", ALL.values(), ids=ALL.keys())


@dataclass
class Rows:
    """The row of a name, and the one from which it inherits."""

    conn: object
    gate: Gate

    def own(self, **columns) -> None:
        configure(self.conn, self.gate.table, *self.gate.key, **columns)

    def default(self, **columns) -> None:
        configure(self.conn, self.gate.table, *self.gate.default_key, **columns)

    def without_own(self) -> None:
        unconfigure(self.conn, self.gate.table, *self.gate.key)

    def without_default(self) -> None:
        unconfigure(self.conn, self.gate.table, *self.gate.default_key)

    def rename(self, key: tuple[str, ...], to: tuple[str, ...]) -> None:
        names = {"concurrency": ["key"], "account": ["tenant", "name"]}.get(self.gate.table, ["name"])
        sets = ", ".join(f"{name} = %s" for name in names)
        match = " AND ".join(f"{name} = %s" for name in names)
        self.conn.execute(f"UPDATE turnstile.{self.gate.table} SET {sets} WHERE {match}", [*to, *key])

    def truncate(self) -> None:
        self.conn.execute(f"TRUNCATE turnstile.{self.gate.table}")

    @property
    def other(self) -> tuple[str, ...]:
        return (*self.gate.key[:-1], "other")

    def claimed(self) -> int:
        enqueue_times(self.conn, 12, **self.gate.behind)
        return len(claim_all(self.conn, self.gate.queue))


@pytest.fixture
def conn(module_db):
    """One database is enough: no rate is in force when a test begins."""
    with module_db.connect() as conn:
        for table in ("job", "queue", "tenant", "account", "concurrency", "batch"):
            conn.execute(sql.SQL("DELETE FROM turnstile.{}").format(sql.Identifier(table)))
        yield conn


@pytest.fixture
def other(module_db):
    with module_db.connect() as other:
        yield other


@pytest.fixture(params=ALL.values(), ids=ALL.keys())
def rows(conn, request) -> Rows:
    return Rows(conn, request.param)


# Each step is a transaction.
FROM_THE_DEFAULT = {
    "its own": [lambda it: it.own(**RATE)],
    "its own, larger": [lambda it: it.own(**MORE)],
    "its own and back": [lambda it: it.own(**RATE), lambda it: it.own(**INHERITED)] * 3,
    "its own and its row deleted": [lambda it: it.own(**MORE), lambda it: it.without_own()] * 3,
    "none within a transaction": [lambda it: (it.own(rate=-1), it.own(rate=None))],
    "a default with none within a transaction": [lambda it: (it.default(rate=-1), it.default(rate=1))],
    "its own instead": [lambda it: (it.own(**MORE), it.without_default())],
    "another default instead": [lambda it: (it.without_default(), it.default(**MORE))],
    "all truncated and set again": [lambda it: (it.truncate(), it.default(**MORE))],
    "its own after all is truncated": [lambda it: (it.truncate(), it.own(**MORE))],
    "the row of another name": [
        lambda it: configure(it.conn, it.gate.table, *it.other, **MORE),
        lambda it: it.rename(it.other, it.gate.key),
    ],
    "the row of another name that inherits again": [
        lambda it: configure(it.conn, it.gate.table, *it.other, rate=-1),
        lambda it: configure(it.conn, it.gate.table, *it.other, rate=None),
        lambda it: it.rename(it.other, it.gate.key),
    ],
}

FROM_ITS_OWN = {
    "a default": [lambda it: it.default(**MORE), lambda it: it.own(**INHERITED)],
    "a default, as its row is deleted": [lambda it: it.default(**MORE), lambda it: it.without_own()],
    "a default, within a transaction": [lambda it: (it.own(**INHERITED), it.default(**MORE))],
    "a default, in place of its row": [lambda it: (it.without_own(), it.default(**MORE))],
    "a default, as its row is renamed": [lambda it: it.default(**MORE), lambda it: it.rename(it.gate.key, it.other)],
    "a default that changes meanwhile": [
        lambda it: it.default(**MORE),
        lambda it: it.without_default(),
        lambda it: it.default(**MORE),
        lambda it: it.without_own(),
    ],
    "another row": [lambda it: (it.without_own(), it.own(**MORE))],
    "a row that was renamed meanwhile": [lambda it: (it.rename(it.gate.key, it.other), it.rename(it.other, it.gate.key))],
    "none within a transaction": [lambda it: (it.own(rate=-1), it.own(rate=1))],
    "its row truncated": [lambda it: (it.truncate(), it.own(**MORE))],
}

read_between = pytest.mark.parametrize("is_read", [True, False], ids=["read between", "not read"])


def _go(rows: Rows, steps, is_read: bool) -> int:
    claimed = 0
    for step in steps:
        with rows.conn.transaction():
            step(rows)
        claimed += rows.claimed() if is_read else 0
    return claimed + rows.claimed()


@read_between
@pytest.mark.parametrize("steps", FROM_THE_DEFAULT.values(), ids=FROM_THE_DEFAULT.keys())
def test_after_the_rate_of_the_default(rows, steps, is_read):
    rows.default(**RATE)
    assert rows.claimed() == 2
    assert _go(rows, steps, is_read) == 0
    assert call(rows.conn, "check") == []


@read_between
@pytest.mark.parametrize("steps", FROM_ITS_OWN.values(), ids=FROM_ITS_OWN.keys())
def test_after_its_own_rate(rows, steps, is_read):
    rows.own(**RATE)
    assert rows.claimed() == 2
    assert _go(rows, steps, is_read) == 0
    assert call(rows.conn, "check") == []


@pytest.mark.parametrize("steps", FROM_THE_DEFAULT.values(), ids=FROM_THE_DEFAULT.keys())
def test_after_the_rate_of_the_default_that_memory_has_not_met(rows, steps):
    """The starts under it were before memory was made."""
    rows.default(**RATE)
    assert rows.claimed() == 2
    rows.conn.execute("SELECT turnstile.rebuild()")
    assert _go(rows, steps, is_read=False) == 0


@pytest.mark.parametrize("steps", FROM_ITS_OWN.values(), ids=FROM_ITS_OWN.keys())
def test_after_its_own_rate_that_memory_has_not_met(rows, steps):
    """The starts under it were before memory was made."""
    rows.own(**RATE)
    assert rows.claimed() == 2
    rows.conn.execute("SELECT turnstile.rebuild()")
    assert _go(rows, steps, is_read=False) == 0


@each_gate
@pytest.mark.parametrize("between", [{"rate": -1}, None], ids=["no limit", "no row"])
def test_where_there_was_none_in_between_it_begins(conn, gate, between):
    rows = Rows(conn, gate)
    rows.own(**RATE)
    assert rows.claimed() == 2
    rows.own(**between) if between else rows.without_own()
    rows.own(**RATE)
    assert rows.claimed() == 2
    rows.own(rate=-1)
    rows.default(**RATE)
    rows.own(**INHERITED)
    assert rows.claimed() == 2


@each_gate
def test_names_that_use_none_begin_with_the_burst_of_the_default(conn, gate):
    """Also where the row of another name with a rate is gone."""
    rows = Rows(conn, gate)
    configure(conn, gate.table, *rows.other, **RATE)
    rows.default(**RATE)
    unconfigure(conn, gate.table, *rows.other)
    assert rows.claimed() == 2


@each_gate
@pytest.mark.parametrize("ends", ["ROLLBACK TO a", "RELEASE a"])
def test_a_savepoint_decides_nothing_that_is_not_committed(conn, gate, ends):
    rows = Rows(conn, gate)
    rows.default(**RATE)
    assert rows.claimed() == 2
    with conn.transaction():
        conn.execute("SAVEPOINT a")
        rows.default(rate=-1)
        conn.execute(ends)
        rows.own(**MORE)
    assert rows.claimed() == 0


@each_gate
def test_a_default_that_comes_while_its_own_goes(conn, other, gate):
    rows, others = Rows(conn, gate), Rows(other, gate)
    rows.own(**RATE)
    assert rows.claimed() == 2
    with conn.transaction():
        rows.without_own()
        others.default(**MORE)
    assert rows.claimed() == 0


@each_gate
def test_a_default_that_is_used_up_before_its_own_is_committed(conn, other, gate):
    rows, others = Rows(conn, gate), Rows(other, gate)
    with conn.transaction():
        rows.own(**MORE)
        others.default(**RATE)
        assert others.claimed() == 2
    assert rows.claimed() == 0


@each_gate
def test_an_old_snapshot_does_not_hide_the_rate_in_force(conn, other, gate):
    rows, others = Rows(conn, gate), Rows(other, gate)
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        conn.execute("SELECT FROM turnstile.queue")
        others.default(**RATE)
        assert others.claimed() == 2
        rows.own(**MORE)
    assert rows.claimed() == 0


@each_gate
@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_both_rows_change_while_another_connection_claims(conn, other, gate, ends):
    rows, others = Rows(conn, gate), Rows(other, gate)
    rows.default(**RATE)
    assert others.claimed() == 2
    for _ in range(3):
        conn.execute("BEGIN")
        rows.own(**MORE)
        assert others.claimed() == 0
        rows.without_default()
        assert others.claimed() == 0
        rows.default(**MORE)
        rows.without_own()
        conn.execute(ends)
        assert others.claimed() == 0


@each_gate
def test_a_row_without_a_limit_that_is_deleted_leaves_a_rate_that_begins(conn, gate):
    rows = Rows(conn, gate)
    rows.default(**RATE)
    rows.own(rate=-1)
    conn.execute("SELECT turnstile.rebuild()")
    assert rows.claimed() == 12
    rows.without_own()
    assert rows.claimed() == 2
    rows.own(**MORE)
    rows.without_own()
    assert rows.claimed() == 0


SETTERS = {
    "queue": "set_queue('mail', {})",
    "tenant": "set_tenant('acme', {})",
    "account": "set_account('acme', 'sales', {})",
    "concurrency key": "set_concurrency('smtp', {})",
}


@pytest.mark.parametrize("name", SETTERS)
@pytest.mark.parametrize("together", [True, False], ids=["one transaction", "each its own"])
def test_setters_go_from_the_default_to_its_own_and_back(conn, name, together):
    rows = Rows(conn, GATES[name])
    setter = f"SELECT turnstile.{SETTERS[name]}"
    rows.default(**RATE)
    assert rows.claimed() == 2
    for _ in range(3):
        with conn.transaction() if together else contextlib.nullcontext():
            conn.execute(setter.format("rate => 1, rate_per => '1 hour', burst => 9"))
            conn.execute(setter.format("clear => '{rate, rate_per, burst}'"))
        assert rows.claimed() == 0
    conn.execute(setter.format("rate => -1"))
    conn.execute(setter.format("rate => 1, rate_per => '1 hour', burst => 2"))
    assert rows.claimed() == 2, "none was in force in between"


@each_gate
def test_a_memory_that_does_not_know_the_name_grants_no_burst_for_a_change_of_rows(conn, gate):
    """The starts before are not on record, and the rate of the default is younger than the memory."""
    rows = Rows(conn, gate)
    rows.own(**RATE)
    assert rows.claimed() == 2
    conn.execute("SELECT turnstile.rebuild()")
    rows.default(**MORE)
    with conn.transaction():
        conn.execute("TRUNCATE turnstile.job CASCADE")
        rows.without_own()
    assert rows.claimed() == 0


def test_a_rate_of_a_batch(conn):
    children = Jsonb([{"kind": "part"}] * 30)
    [(parent,)] = call(conn, "enqueue_batch", kind="sum", children=children)

    def set_batch(**columns):
        configure(conn, "batch", parent, **columns)

    set_batch(**RATE)
    assert len(claim_all(conn)) == 2
    with conn.transaction():
        set_batch(rate=None)
        set_batch(**MORE)
    assert claim_all(conn) == []
    with conn.transaction():
        unconfigure(conn, "batch", parent)
        set_batch(**MORE)
    assert claim_all(conn) == []
    set_batch(rate=None, slots=0)
    set_batch(**RATE, slots=None)
    assert len(claim_all(conn)) == 2


def test_a_role_that_may_only_write_settings_sets_a_rate(db, role):
    """What is in force is read with the rights of the owner."""
    conn = db.connect()
    conn.execute("SELECT turnstile.allow_operator(%s::regrole)", [role])
    conn.execute(f"GRANT INSERT ON turnstile.tenant TO {role}; SET ROLE {role}")
    conn.execute("INSERT INTO turnstile.tenant (name, rate, rate_per, burst) VALUES ('acme', 1, '1 hour', 2)")
    conn.execute("RESET ROLE")
    assert Rows(conn, GATES["tenant"]).claimed() == 2


@each_gate
@pytest.mark.parametrize("burst, per", [(3000, "100 years"), (2147483647, "1 day"), (2147483647, "100 years")])
def test_a_burst_that_takes_longer_to_fill_than_times_reach(conn, gate, burst, per):
    rows = Rows(conn, gate)
    rows.own(rate=1, rate_per=per, burst=burst)
    assert rows.claimed() == 12
    conn.execute("SELECT turnstile.rebuild()")
    assert rows.claimed() == 0, "the bucket is empty"
