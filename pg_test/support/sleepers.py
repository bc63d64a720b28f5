"""Connections that sleep in the server until there is work."""

import contextlib
import threading
import time

import psycopg

# Less than the minute that sleepers have, so who is not woken is found out, also on a busy machine.
PATIENCE = 40

ASLEEP = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND wait_event_type = 'Extension'
"""


class Sleeper(threading.Thread):
    """One call in a thread of its own; `error` is what it raised, `rows` what it returned."""

    def __init__(self, conn, call: str = "CALL turnstile.wait_for_job(ARRAY['default'], '60 s')", **arguments):
        super().__init__(daemon=True)
        self.conn, self.call, self.arguments = conn, call, arguments
        self.error: psycopg.Error | None = None
        self.rows: list = []
        self.start()

    def run(self):
        try:
            cursor = self.conn.execute(self.call, self.arguments or None)
            self.rows = cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            self.error = error

    @property
    def pid(self) -> int:
        return self.conn.info.backend_pid

    def returned(self) -> "Sleeper":
        self.join(PATIENCE)
        assert not self.is_alive(), "the sleeper was not woken"
        return self

    def returned_without_sleeping_on_changes(self, conn) -> "Sleeper":
        """Others would wait for changes that a sleeper keeps uncommitted, whatever wakes it in the end."""

        def has_returned() -> bool:
            assert not asleep_on_changes(conn), "it sleeps in a transaction that has changed something"
            return not self.is_alive()

        until(has_returned, "the sleeper returns")
        return self


def asleep(conn) -> int:
    return conn.execute(ASLEEP).fetchone()[0]


def asleep_on_changes(conn) -> int:
    return conn.execute(f"{ASLEEP} AND backend_xid IS NOT NULL").fetchone()[0]


def await_asleep(conn, number: int) -> None:
    until(lambda: asleep(conn) == number, f"{number} asleep")


def until(is_so, what: str, seen=lambda: "") -> None:
    """`seen` tells what there is instead, if that never comes."""
    give_up = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < give_up, f"never: {what} {seen()}"
        time.sleep(0.005)


def put_to_sleep(db, conn, number: int, call: str | None = None, expected: int = 0, **arguments) -> list[Sleeper]:
    """So many more sleepers; `expected` is how many there are then, if others sleep already."""
    sleepers = [Sleeper(db.connect(), *([call] if call else []), **arguments) for _ in range(number)]
    await_asleep(conn, expected or number)
    return sleepers


def count_returned(sleepers) -> int:
    return sum(not sleeper.is_alive() for sleeper in sleepers)


@contextlib.contextmanager
def woken_by_the_end(conn, sleepers):
    """Cancels whoever still sleeps when the block ends, in whatever way it does."""
    try:
        yield sleepers
    finally:
        for sleeper in sleepers:
            if sleeper.is_alive():
                conn.execute("SELECT pg_cancel_backend(%s)", [sleeper.pid])
        for sleeper in sleepers:
            sleeper.returned()
