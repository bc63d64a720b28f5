"""Many jobs while workers are killed, stopped and told to end, connections are lost and jobs are cancelled."""

import contextlib
import random
import signal
import time
from collections import Counter

import psycopg

from support.calls import call, enqueue_many
from support.drivers import LOSE_CONNECTIONS
from support.ended import counts
from support.sleepers import until

WORKERS = 3
MANY, FEW = 5000, 120
ROUNDS = 20
# None of them fails for good: the second attempt of all ends well.
WAYS = [
    {"kind": "ok"},
    {"kind": "sleep", "payload": {"seconds": 0.002}},
    {"kind": "fail", "payload": {"error": "not yet", "times": 1}},
]
WAYS_OF_SOME = {
    "results": {"kind": "echo", "payload": {"a": "echo"}},
    "snooze": {"kind": "snooze", "payload": {"seconds": 0.05, "until": 0}},
    "children": {"kind": "parent", "payload": {"children": 2}},
}
LIVE = "SELECT id FROM turnstile.job WHERE kind IN ('ok', 'sleep', 'echo') ORDER BY random() LIMIT 5"
# By id, as all calls lock jobs.
LAPSE = """
UPDATE turnstile.job SET lease_expires_at = clock_timestamp()
 WHERE id = ANY(ARRAY(SELECT id FROM turnstile.job WHERE state = 'running' ORDER BY id FOR UPDATE)) AND state = 'running'
"""
LEFT = "SELECT count(*), coalesce(sum(attempt), 0), coalesce(max(attempt), 0) FROM turnstile.job"
# Each thing that happens costs a run one attempt at most.
MOST_ATTEMPTS = 50
TWICE = "SELECT id FROM turnstile.jobs GROUP BY id HAVING count(*) > 1"
WRONG = "SELECT id FROM turnstile.jobs WHERE kind = 'echo' AND state = 'completed' AND result IS DISTINCT FROM payload"


class Crew:
    """As many workers as there should be, of whom some have to go."""

    def __init__(self, start, conn, chance: random.Random):
        self.start, self.conn, self.chance = start, conn, chance
        self.workers = [self._one() for _ in range(WORKERS)]
        self.told, self.killed = [], []

    def _one(self):
        return self.start(lease=3, heartbeat=0.3, drain=0.1, grace=1)

    def _gone(self):
        gone = self.workers.pop(self.chance.randrange(WORKERS))
        self.workers.append(self._one())
        return gone

    def kill_one(self) -> None:
        self.killed.append(self._gone())
        self.killed[-1].kill()

    def tell_one(self) -> None:
        self.told.append(self._gone())
        self.told[-1].terminate()

    def stop_one_for_a_while(self) -> None:
        worker = self.chance.choice(self.workers)
        worker.signal(signal.SIGSTOP)
        self.conn.execute(LAPSE)
        call(self.conn, "rescue")
        worker.signal(signal.SIGCONT)

    def lose_connections(self) -> None:
        self.conn.execute(LOSE_CONNECTIONS)

    def cancel_some(self) -> None:
        for (job,) in self.conn.execute(LIVE).fetchall():
            with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState):  # It has ended meanwhile.
                call(self.conn, "cancel", job_id=job)

    def deeds(self) -> list:
        return [self.kill_one, self.tell_one, self.stop_one_for_a_while, self.lose_connections, self.cancel_some]

    @property
    def all(self) -> list:
        return [*self.workers, *self.told, *self.killed]


def await_the_end(conn) -> None:
    """For as long as anything moves."""

    def left() -> tuple:
        call(conn, "rescue")
        return conn.execute(LEFT).fetchone()

    before = left()
    while before[0]:
        assert before[2] < MOST_ATTEMPTS, "a job is tried again and again"
        until(lambda: left() != before, "fewer jobs, or more attempts", lambda: (counts(conn), before))  # noqa: B023
        before = left()


def test_all_is_done_once_whatever_happens(start, conn, language, seed):
    chance = random.Random(seed)
    # A lease that is over costs an attempt.
    call(conn, "set_queue", name="*", retry_base="10 milliseconds", retry_cap="10 milliseconds", max_attempts=1000)
    crew = Crew(start, conn, chance)
    can = crew.workers[0].can
    ways = [*WAYS, *(job for what, job in WAYS_OF_SOME.items() if what in can)]
    number = MANY if "concurrency" in can else FEW
    deeds = crew.deeds() * 2
    chance.shuffle(deeds)
    for _ in range(ROUNDS):
        enqueue_many(conn, [chance.choice(ways) for _ in range(number // ROUNDS)])
        if deeds:
            deeds.pop()()
        time.sleep(chance.uniform(0, 0.2))
    while deeds:
        deeds.pop()()
    await_the_end(conn)
    for worker in crew.workers:
        worker.terminate()
    for worker in [*crew.workers, *crew.told]:
        worker.leaves()
    assert_in_order(conn, crew, number)


def assert_in_order(conn, crew: Crew, number: int) -> None:
    ended = counts(conn)
    assert set(ended) <= {"completed", "cancelled"}, ended
    assert sum(ended.values()) >= number and ended["completed"] > number // 2
    assert conn.execute(TWICE).fetchall() == []
    assert conn.execute(WRONG).fetchall() == []
    begun = Counter((said["id"], said["attempt"]) for worker in crew.all for said in worker.events("started"))
    assert [run for run, times in begun.items() if times > 1] == []
    for worker in crew.all:
        assert worker.most_at_once() <= worker.concurrency
