"""A claim that meets many gates whose settings are not known reads them together: each gets its own."""

import pytest

from support.calls import claim, claim_next, enqueue
from support.settings import configure

NAMES = [f"n{number:04}" for number in range(1500)]
FULL = {name for number, name in enumerate(NAMES) if number % 3}


def _jobs(conn, column: str) -> None:
    conn.execute(
        f"INSERT INTO turnstile.job (kind, queue, {column}) SELECT 'work', 'q', name FROM unnest(%s::text[]) AS name", [NAMES]
    )


def _settings(conn, table: str, key: str) -> None:
    conn.execute(f"INSERT INTO turnstile.{table} ({key}, slots) SELECT name, 0 FROM unnest(%s::text[]) AS name", [sorted(FULL)])


@pytest.fixture(params=[("tenant", "tenant", "name"), ("concurrency", "concurrency_key", "key")], ids=["tenants", "keys"])
def crowd(request, conn) -> str:
    """Names with one job each, most of them full; returns the column that holds them."""
    table, column, key = request.param
    _jobs(conn, column)
    _settings(conn, table, key)
    conn.execute("SELECT turnstile.rebuild()")
    return column


def _claimed(conn, column: str) -> set:
    ids = [job.id for job in claim(conn, ["q"], len(NAMES))]
    return {name for (name,) in conn.execute(f"SELECT {column} FROM turnstile.job WHERE id = ANY (%s)", [ids])}


def test_each_has_its_own_settings_or_those_of_all(conn, crowd):
    assert _claimed(conn, crowd) == set(NAMES) - FULL


def test_the_default_row_is_that_of_all_without_a_row(conn, crowd):
    configure(conn, "tenant" if crowd == "tenant" else "concurrency", "*", slots=1)
    assert _claimed(conn, crowd) == set(NAMES) - FULL
    for name in set(NAMES) - FULL:
        conn.execute(f"INSERT INTO turnstile.job (kind, queue, {crowd}) VALUES ('work', 'q', %s)", [name])
    assert _claimed(conn, crowd) == set()


def test_paused_sessions_are_told_from_others(conn):
    _jobs(conn, "session")
    conn.execute(
        "INSERT INTO turnstile.paused_session (queue, session) SELECT 'q', name FROM unnest(%s::text[]) AS name", [sorted(FULL)]
    )
    conn.execute("SELECT turnstile.rebuild()")
    assert _claimed(conn, "session") == set(NAMES) - FULL


def test_accounts_have_the_defaults_of_their_own_tenants(conn):
    for tenant, slots in (("a", 0), ("b", 1)):
        configure(conn, "account", tenant, "*", slots=slots)
    conn.execute(
        "INSERT INTO turnstile.job (kind, queue, tenant, account) SELECT 'work', 'q', tenant, name"
        " FROM unnest(%s::text[]) AS name, unnest(ARRAY['a', 'b']) AS tenant",
        [NAMES[:200]],
    )
    claimed = [job.id for job in claim(conn, ["q"], 400)]
    (tenants,) = conn.execute("SELECT array_agg(DISTINCT tenant) FROM turnstile.job WHERE id = ANY (%s)", [claimed]).fetchone()
    assert (len(claimed), tenants) == (200, ["b"])
