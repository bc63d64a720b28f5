"""What `pg_stat_activity` shows of a process that sleeps."""

from support.calls import enqueue
from support.sleepers import Sleeper, await_asleep

EVENT = "SELECT wait_event FROM pg_stat_activity WHERE pid = %s"


def test_the_event_has_a_name_of_its_own_where_the_server_allows_one(db, conn):
    sleeper = Sleeper(db.connect())
    await_asleep(conn, 1)
    (event,) = conn.execute(EVENT, [sleeper.pid]).fetchone()
    enqueue(conn)
    assert sleeper.returned().error is None
    assert event == ("TurnstileSleep" if conn.info.server_version >= 170_000 else "Extension")
