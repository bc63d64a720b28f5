"""wait_estimate() under steady load: for nine jobs of ten the wait that it says is the wait that comes, within a factor of two.

Workers take as long for each job as steady load has it, so all that counts is the order of jobs and the pace of gates.
"""

import random
import threading
import time
from dataclasses import dataclass, field

import pytest

from support.calls import call, claim_next, complete, enqueue_many
from support.database import checked_database
from support.settings import configure

WORKERS = 8
# Seconds that a job takes, on average.
TAKES = 0.02
# Jobs that have started when the questions are asked: the pace is known then.
BEFORE = 600
ASKED = 60


@dataclass
class Load:
    """A backlog, and what its gates are set to."""

    jobs: list
    settings: list = field(default_factory=list)


def _fifo(rng) -> Load:
    return Load([{"tenant": rng.choice("abc")} for _ in range(1800)])


def _limited(rng) -> Load:
    jobs = [{"tenant": "a" if rng.random() < 0.3 else rng.choice("bcd")} for _ in range(1800)]
    return Load(jobs, [("tenant", ("a",), {"slots": 1})])


def _fair(rng) -> Load:
    jobs = [{"tenant": "a" if rng.random() < 0.7 else rng.choice("bc")} for _ in range(1800)]
    return Load(jobs, [("queue", ("q",), {"policy": "fair"}), ("tenant", ("b",), {"weight": 2})])


def _sessions(rng) -> Load:
    return Load([{"session": f"s{rng.randrange(100)}"} for _ in range(1800)])


def _priorities(rng) -> Load:
    return Load([{"priority": rng.choice([0, 1, 1, 2]), "tenant": rng.choice("ab")} for _ in range(1800)])


def _rate(rng) -> Load:
    return Load([{"tenant": rng.choice("ab")} for _ in range(1500)], [("queue", ("q",), {"rate": 200, "rate_per": "1 second"})])


LOADS = {
    "fifo": _fifo, "a limited tenant": _limited, "fair": _fair, "sessions": _sessions, "priorities": _priorities, "rate": _rate,
}  # fmt: skip


class _Worker(threading.Thread):
    def __init__(self, db, stop, seed):
        super().__init__(daemon=True)
        self.conn, self.stop, self.rng = db.connect(), stop, random.Random(seed)
        self.start()

    def run(self):
        while not self.stop.is_set():
            job = claim_next(self.conn, "q", wait="1 second")
            if job is not None:
                time.sleep(self.rng.uniform(0.5, 1.5) * TAKES)
                complete(self.conn, job)


STARTED = "SELECT count(*) FROM turnstile.jobs WHERE claimed_at IS NOT NULL"
ASK = """
SELECT job.id, asked.at, estimate.starts_at
FROM turnstile.job, LATERAL (SELECT clock_timestamp() AS at OFFSET 0) AS asked, LATERAL turnstile.wait_estimate(job.id) AS estimate
WHERE job.state = 'available' AND job.id = %s
"""


def _until(is_so) -> None:
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("never")


@pytest.mark.long
@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_nine_of_ten_are_right_within_a_factor_of_two(seed, load):
    """A machine that is held up for seconds makes a load that is not steady; then it is tried again. The pace that was before has
    no part in that."""
    rng = random.Random(seed)
    tries = []
    for _ in range(3):
        with checked_database() as db:
            tries.append(_ratios(db, db.connect(), rng, load(rng)))
        right = [ratio for ratio in tries[-1] if 0.5 <= ratio <= 2]
        if len(right) >= ASKED / 3 and len(right) >= 0.9 * len(tries[-1]):
            return
    pytest.fail(f"of no try: {tries}")


def _ratios(db, conn, rng, given: Load) -> list[float]:
    """For each job that still waited when it was asked for: the wait that was said, through the wait that came."""
    for table, key, settings in given.settings:
        configure(conn, table, *key, **settings)
    enqueue_many(conn, [{"kind": "work", "queue": "q"} | job for job in given.jobs])
    stop = threading.Event()
    workers = [_Worker(db, stop, rng.random()) for _ in range(WORKERS)]
    asked = {}
    try:
        _until(lambda: conn.execute(STARTED).fetchone()[0] >= BEFORE)
        waiting = [job for (job,) in conn.execute("SELECT id FROM turnstile.job WHERE state = 'available'").fetchall()]
        for job in rng.sample(waiting, ASKED):
            for found, at, starts_at in conn.execute(ASK, [job]).fetchall():
                asked[found] = (at, starts_at)
        _until(lambda: conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'available'").fetchone() == (0,))
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    began = dict(conn.execute("SELECT id, claimed_at FROM turnstile.jobs").fetchall())
    return sorted((starts_at - at) / (began[job] - at) for job, (at, starts_at) in asked.items() if began[job] > at)


def test_a_job_that_is_next_starts_soon(conn):
    enqueue_many(conn, [{"kind": "work", "queue": "q"} for _ in range(20)])
    for _ in range(10):
        complete(conn, claim_next(conn, "q"))
    [job] = conn.execute("SELECT min(id) FROM turnstile.job").fetchone()
    [row] = call(conn, "wait_estimate", job_id=job)
    assert (row.ahead, row.is_capped, row.bottleneck) == (0, False, "queue")
    assert row.starts_per_minute > 0
