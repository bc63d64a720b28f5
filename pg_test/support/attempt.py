"""A call that may have to wait for another transaction."""

import threading

import psycopg

from support.errors import WRONG_STATE
from support.sleepers import until

WAITS = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"


class Attempt(threading.Thread):
    """The call, in a thread of its own; `made` is what it returned, `error` what it raised."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.made, self.error = call, None, None
        self.start()

    def run(self):
        try:
            self.made = self.call()
        except psycopg.Error as error:
            self.error = error

    def given_time(self, conn, pid: int) -> None:
        """Until it has returned or waits for a lock."""
        until(lambda: not self.is_alive() or conn.execute(WAITS, [pid]).fetchone() == (1,), "the call is decided or waits")

    def decided(self, *refusals: str) -> "Attempt":
        """It has returned, or was refused with one of these errors."""
        self.join(60)
        assert not self.is_alive(), "the call does not return"
        assert self.error is None or self.error.sqlstate in (refusals or (WRONG_STATE,)), self.error
        return self
