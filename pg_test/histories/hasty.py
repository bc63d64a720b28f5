"""Claims that nobody waits for, as the last that happens before a crash, and what becomes of their runs."""

import contextlib

from histories.client import Refused
from histories.worker import CLAIM_NEXT, ENQUEUE_MANY, PLAIN, Worker


class Hasty(Worker):
    JOBS = 4
    QUEUE = "free"

    def claim(self) -> None:
        self.connect()
        with contextlib.suppress(Refused):
            jobs = [{"kind": self.next_me, "queue": self.QUEUE, "priority": -5}] * self.JOBS
            self.call("enqueue_many", ENQUEUE_MANY, {"jobs": jobs}, jobs=self.JOBS)
            for _ in jobs:
                values = PLAIN | {"queue": self.QUEUE}
                self.held += self.call("claim_next", CLAIM_NEXT, values, queues=[self.QUEUE], most=1, bound=False)

    def go_on(self) -> None:
        """As if nothing had happened."""
        self.connect()
        for run in [*self.held, *self.over]:
            with contextlib.suppress(Refused):
                self.on_run("complete", ", %(result)s", run, result={"by": self.next_me})
        self.conn.close()
