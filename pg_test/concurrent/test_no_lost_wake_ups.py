"""Workers that never poll, against commits at every instant: no job is left lying while somebody sleeps or listens.

Workers wait for a minute, so a lost wake-up stalls the test. `TURNSTILE_RACES` sets how many jobs there are; 100,000 take
some minutes.
"""

import os
import random
import time

import pytest

from support import rows
from support.calls import claim_next, complete, enqueue
from support.crew import Progress, together
from support.listeners import Listener

RACES = int(os.environ.get("TURNSTILE_RACES", "3000"))
PRODUCERS = 2
# Producers wait for so many jobs at most: for all, so that nothing but their next commit wakes anybody; or go on.
LEADS = [0, 20]


def _by_procedure(conn, queue):
    def take():
        job = claim_next(conn, queue)
        if job is None:
            conn.execute("CALL turnstile.wait_for_job(%s, '50 s')", [[queue]])
        return job

    return take


def _in_the_claim(conn, queue):
    return lambda: claim_next(conn, queue, wait="50 s")


def _by_notification(conn, queue):
    listener = Listener(conn, queue)

    def take():
        job = claim_next(conn, queue)
        if job is None:
            listener.wait()
        return job

    return take


@pytest.mark.parametrize(
    "worker", [_by_procedure, _in_the_claim, _by_notification], ids=["wait_for_job", "wait", "LISTEN"]
)
@pytest.mark.parametrize("workers", [1, 6])
def test_every_commit_finds_its_worker(db, conn, seed, worker, workers):
    races = RACES // 2
    progress, made = Progress(races), [0] * PRODUCERS

    def produce(number: int):
        connection, chance = db.connect(), random.Random(seed + number)
        for _ in range(races // PRODUCERS):
            # Up to the moment when the workers are about to fall asleep, and a little beyond.
            time.sleep(chance.random() * 0.002)
            enqueue(connection, queue="q")
            made[number] += 1
            lead = chance.choice(LEADS)
            while sum(made) - progress.ended > lead and not progress.broken:
                time.sleep(0.0005)

    def work():
        connection = db.connect()
        take = worker(connection, "q")
        while progress.going:
            job = take()
            if job is not None:
                complete(connection, job)
                progress.add()
        # Whoever still waits is to see that it is over.
        enqueue(connection, queue="q")

    together([work] * workers + [lambda n=n: produce(n) for n in range(PRODUCERS)], progress)
    assert rows.counts(conn)["completed"] >= races
