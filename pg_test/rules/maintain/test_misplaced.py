"""Jobs that were added while the extension's own triggers were disabled: check() names them, and says what mends it."""

import re

import pytest

from support.calls import call, claim_next, enqueue

ALWAYS = {"place_job", "publish_change", "publish_truncate", "forget_unique_keys"}


def _found(conn, problem: str) -> list[str]:
    return [row.detail for row in call(conn, "check") if row.problem == problem]


def _mend(conn, details: list[str]) -> None:
    for detail in details:
        conn.execute(re.search(r"mends it: (.*)$", detail)[1])


@pytest.fixture
def loaded(conn):
    """A connection to jobs as some programs load them."""

    def load(*rows: str):
        conn.execute("ALTER TABLE turnstile.job DISABLE TRIGGER USER")
        for row in rows:
            conn.execute(f"INSERT INTO turnstile.job (kind, queue, lane, lane_group, state, run_at, waits_for) VALUES {row}")
        conn.execute("ALTER TABLE turnstile.job ENABLE TRIGGER USER")
        call(conn, "rebuild")

    return load


@pytest.mark.parametrize(
    "row",
    [
        "('loaded', 'default', 1, 1, 'available', now(), NULL)",
        "('loaded', 'default', 0, 0, 'scheduled', now() + '1 hour', NULL)",
    ],
)
def test_jobs_that_are_not_where_their_columns_say_are_named_and_mended(conn, loaded, row):
    right = enqueue(conn)
    loaded(row, row)
    first, last = right + 1, right + 2
    [detail] = _found(conn, "jobs are not where their columns say")
    assert detail.startswith(f"no claim finds 2 jobs, of which {first} is the first;")
    _mend(conn, _found(conn, "a trigger of the extension does not fire always"))
    _mend(conn, [detail])
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp(), state = 'available' WHERE state = 'scheduled'")
    assert [claim_next(conn).id for _ in range(3)] == [right, first, last]
    assert call(conn, "check") == []


def test_a_job_that_was_put_elsewhere_by_its_wait_is_named_and_mended(conn, loaded):
    job = enqueue(conn)
    conn.execute("ALTER TABLE turnstile.job DISABLE TRIGGER USER")
    conn.execute("UPDATE turnstile.job SET waits_for = 'time'")
    loaded()
    assert claim_next(conn) is None
    _mend(conn, _found(conn, "a trigger of the extension does not fire always"))
    details = _found(conn, "jobs are not where their columns say")
    _mend(conn, details)
    assert claim_next(conn).id == job
    assert call(conn, "check") == []


def test_a_trigger_that_does_not_fire_always_is_named_and_mended(conn, loaded):
    conn.execute("ALTER TABLE turnstile.queue DISABLE TRIGGER publish_setting")
    loaded()
    details = _found(conn, "a trigger of the extension does not fire always")
    assert {detail.rpartition(" ")[2] for detail in details} == ALWAYS | {"publish_setting"}
    _mend(conn, details)
    assert call(conn, "check") == []


def test_triggers_of_users_are_their_own_affair(conn):
    conn.execute("CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    conn.execute("CREATE TRIGGER mine BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()")
    assert call(conn, "check") == []
