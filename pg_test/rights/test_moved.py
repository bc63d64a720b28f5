"""A job that is given to another tenant while a call waits for its lock is not for the caller any more."""

import pytest
from psycopg import sql

from rights.world import world
from support.attempt import Attempt
from support.calls import enqueue
from support.errors import NO_PRIVILEGE

CALLS = {
    "cancel": "turnstile.cancel(%s)",
    "discard": "turnstile.discard(%s)",
    "retry": "turnstile.retry(%s)",
    "reprioritize": "turnstile.reprioritize(%s, 3)",
}


@pytest.fixture(scope="module")
def everybody():
    with world() as found:
        yield found


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_what_is_given_to_others_meanwhile_is_theirs(everybody, call, end):
    conn, other, tenant = (everybody.database.connect() for _ in range(3))
    tenant.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(everybody.name("tenant"))))
    job = enqueue(conn, queue="mail", tenant="acme", run_at="2100-01-01")
    other.execute("BEGIN")
    other.execute("UPDATE turnstile.job SET tenant = 'globex' WHERE id = %s", [job])
    called = Attempt(lambda: tenant.execute(f"SELECT {call}", [job]))
    called.given_time(conn, tenant.info.backend_pid)
    assert called.is_alive(), "nobody waited"
    other.execute(end)
    called.decided(NO_PRIVILEGE)
    assert (called.error is None) == (end == "ROLLBACK")
    left = conn.execute("SELECT tenant, state, priority FROM turnstile.job WHERE id = %s", [job]).fetchone()
    assert (left == ("globex", "scheduled", 0)) == (end == "COMMIT")
