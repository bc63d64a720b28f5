"""Rights that two sessions give or take at the same moment: one waits for the other, and both come to their end."""

import pytest
from psycopg import sql

from support.sleepers import Sleeper

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
GIVES = "SELECT turnstile.allow_worker({}, '{{mail}}')"
OTHERS = {
    "a right": "SELECT turnstile.allow_producer({})",
    "the same right": GIVES,
    "a tenant": "SELECT turnstile.allow_tenant({}, '{{acme}}')",
    "operator": "SELECT turnstile.allow_operator({})",
    "monitor": "SELECT turnstile.allow_monitor({})",
    "none": "SELECT turnstile.disallow({})",
}


def _until_it_waits(conn, sleeper) -> None:
    while not conn.execute(WAITING, [sleeper.pid]).fetchone()[0]:
        assert sleeper.is_alive(), sleeper.error


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("first", [GIVES, OTHERS["none"]], ids=["given", "taken"])
@pytest.mark.parametrize("second", OTHERS.values(), ids=OTHERS.keys())
def test_one_waits_for_the_other(conn, other, db, role, first, second, end):
    first, second = (sql.SQL(text).format(sql.Literal(role)).as_string(conn) for text in (first, second))
    conn.execute(first)
    conn.execute("BEGIN")
    conn.execute(first)
    sleeper = Sleeper(other, second)
    _until_it_waits(db.connect(), sleeper)
    conn.execute(end)
    assert sleeper.returned().error is None
