"""Clients that wait for notifications, as a worker with an event loop of its own does."""

import select
import time
from collections import namedtuple

from support.calls import claim_next, complete, enqueue
from support.sleepers import PATIENCE

_Told = namedtuple("_Told", "channel payload pid")

ALL_QUEUES = "turnstile_0000000000000000"
_LAST = "the last of this look"


class Listener:
    """One connection that listens to the channels of queues, and what it has heard."""

    def __init__(self, conn, *queues: str):
        self.conn = conn
        self._heard: list = []
        conn.add_notify_handler(lambda told: self._heard.append(_Told(told.channel, told.payload, told.pid)))
        self.channels = {queue: self._listen(queue) for queue in queues}

    def _listen(self, queue: str) -> str:
        channel = self.conn.execute("SELECT turnstile.listen_channel(%s)", [queue]).fetchone()[0]
        self.conn.execute(f"LISTEN {channel}")
        return channel

    def find_nothing(self) -> "Listener":
        for queue in self.channels:
            assert claim_next(self.conn, queue) is None
        return self

    def wait(self) -> _Told:
        """The next notification; an end of the wait is a lost one."""
        give_up = time.monotonic() + PATIENCE
        while not self._heard:
            assert time.monotonic() < give_up, "nobody told the listener"
            if select.select([self.conn], [], [], 1)[0]:
                self.conn.pgconn.consume_input()
                while told := self.conn.pgconn.notifies():
                    self._heard.append(_Told(told.relname.decode(), told.extra.decode(), told.be_pid))
        return self._heard.pop(0)

    def told(self, queue: str) -> None:
        """Waits until it is told of work, and of nothing but that there is some."""
        told = self.wait()
        assert (told.channel, told.payload) == (self.channels[queue], "")

    def heard(self, admin) -> list[str]:
        """The channels on which it was told until now: what is owed is sent in order, and a last one is waited for."""
        last = self._listen(_LAST)
        assert claim_next(admin, _LAST) is None
        enqueue(admin, queue=_LAST)
        channels = []
        while not channels or channels[-1] != last:
            channels.append(self.wait().channel)
        assert complete(admin, claim_next(admin, _LAST))
        return channels[:-1]


NOTIFIER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'turnstile notifier'"
