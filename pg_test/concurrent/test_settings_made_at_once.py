"""Rows of settings made by many connections at once."""

import pytest

from support.crew import together

CONNECTIONS = 12
TIMES = 300
# All connections make the row of a millisecond.
NAME = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text"
UPSERT = "INSERT INTO turnstile.{0} ({1}, {2}) VALUES ({3}, 3) ON CONFLICT ({1}) DO UPDATE SET {2} = excluded.{2}"
STATEMENTS = {
    "set_queue": f"SELECT turnstile.set_queue({NAME}, max_running => 3)",
    "set_tenant": f"SELECT turnstile.set_tenant({NAME}, slots => 3)",
    "set_account": f"SELECT turnstile.set_account('acme', {NAME}, slots => 3)",
    "set_concurrency": f"SELECT turnstile.set_concurrency({NAME}, slots => 3)",
    "queue": UPSERT.format("queue", "name", "max_running", NAME),
    "tenant": UPSERT.format("tenant", "name", "slots", NAME),
    "account": UPSERT.format("account", "tenant, name", "slots", f"'acme', {NAME}"),
    "concurrency": UPSERT.format("concurrency", "key", "slots", NAME),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_session_is_refused(db, statement):
    def make(conn):
        for _ in range(TIMES):
            conn.execute(STATEMENTS[statement])

    together([lambda c=c: make(c) for c in [db.connect() for _ in range(CONNECTIONS)]])
