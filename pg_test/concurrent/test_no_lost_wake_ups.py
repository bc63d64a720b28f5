"""Workers that never poll, against commits at every instant: no job is left lying while somebody sleeps.

Workers sleep for a minute, so a lost wake-up stalls the test. `TURNSTILE_RACES` sets how many jobs there are; 100,000 take
some minutes.
"""

import os
import random
import time

import pytest

from support import rows
from support.calls import claim_next, complete, enqueue
from support.crew import Progress, together

RACES = int(os.environ.get("TURNSTILE_RACES", "3000"))
WORKERS = 6
PRODUCERS = 2


def _by_procedure(conn, queue):
    job = claim_next(conn, queue)
    if job is None:
        conn.execute("CALL turnstile.wait_for_job(%s, '50 s')", [[queue]])
    return job


def _in_the_claim(conn, queue):
    return claim_next(conn, queue, wait="50 s")


@pytest.mark.parametrize("take", [_by_procedure, _in_the_claim], ids=["wait_for_job", "wait"])
def test_every_commit_finds_its_worker(db, conn, seed, take):
    progress = Progress(RACES)

    def produce(number: int):
        connection, chance = db.connect(), random.Random(seed + number)
        for made in range(RACES // PRODUCERS):
            # Up to the moment when the workers are about to fall asleep, and a little beyond.
            time.sleep(chance.random() * 0.002)
            enqueue(connection, queue="q")
            while made - progress.ended > 20 and not progress.broken:
                time.sleep(0.001)

    def work():
        connection = db.connect()
        while progress.going:
            job = take(connection, "q")
            if job is not None:
                complete(connection, job)
                progress.add()
        # Whoever still sleeps is to see that it is over.
        enqueue(connection, queue="q")

    together([work] * WORKERS + [lambda n=n: produce(n) for n in range(PRODUCERS)], progress)
    assert rows.counts(conn)["completed"] >= RACES
