"""Producers, workers and administrators at different isolation levels together: a 40001 is tried again, nothing else
is allowed to happen."""

import random
import time

import psycopg
import pytest

from faults.witness import Sampler, has_each_once, is_sound, run_to_the_end
from support import naive
from support.calls import claim, complete, complete_and_claim_next, complete_many, enqueue_many, fail, ids, release
from support.crew import Progress, together
from support.load import QUEUES, gates_of, random_jobs, random_limits, set_limit
from support.runlog import Limits, RunLog, ending, repeated, undoing, violations

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
JOBS = 900


def _again_if_not_serialised(conn, work):
    """The result of the work, which is done anew after a serialisation failure, and how often it failed."""
    failures = 0
    while True:
        try:
            return work(), failures
        except psycopg.errors.SerializationFailure:
            if not conn.autocommit or conn.info.transaction_status:
                conn.execute("ROLLBACK")
            failures += 1


class Worker:
    """Transactions of several steps at its own level, with a snapshot that is often older than the jobs. Claims are refused
    under SERIALIZABLE, so one of that level claims at the next lower one."""

    def __init__(self, conn, level: str, seed: int, progress: Progress):
        self.conn, self.level, self.progress = conn, level, progress
        self.chance = random.Random(seed)
        self.log = RunLog()
        self.failures = 0

    def work(self) -> None:
        while self.progress.going:
            self.stand_at("REPEATABLE READ" if self.level == "SERIALIZABLE" else self.level)
            runs = self.retry(self.take)
            if not runs:
                self.progress.idle()
            for run in runs:
                if self.chance.random() < 0.2:
                    self.stand_at("REPEATABLE READ" if self.level == "SERIALIZABLE" else self.level)
                    self.retry(lambda run=run: self.hand_on(run))
                else:
                    self.stand_at(self.level)
                    self.retry(lambda run=run: self.end(run))

    def stand_at(self, level: str) -> None:
        self.conn.execute(f"SET default_transaction_isolation = '{level.lower()}'")

    def retry(self, work):
        result, failures = _again_if_not_serialised(self.conn, work)
        self.failures += failures
        return result

    def take(self) -> list:
        """Claims in a transaction that has looked around before, and perhaps enqueues and ends in it, too."""
        sent = time.monotonic()
        queues = self.chance.sample(QUEUES, 3)
        if self.chance.random() < 0.4:
            return self.log.claimed(claim(self.conn, queues, self.chance.randint(1, 3)), gates_of, sent)
        self.conn.execute("BEGIN; SELECT count(*) FROM turnstile.jobs")
        time.sleep(self.chance.random() * 0.01)
        runs, asked = [], sent
        try:
            runs = self.log.claimed(claim(self.conn, queues, self.chance.randint(1, 3)), gates_of, sent)
            done = [run for run in runs if self.chance.random() < 0.3]
            asked = time.monotonic()
            complete_many(self.conn, done)
            kept = self.chance.random() < 0.7
            if not kept:
                undoing(runs)
            for run in done:
                ending(run)
            self.conn.execute("COMMIT" if kept else "ROLLBACK")
        except psycopg.errors.SerializationFailure:
            # The error itself has rolled the claims back, at some time since it was asked.
            undoing(runs)
            for run in runs:
                run.ended = min(run.ended, asked)
            raise
        self.progress.add(len(done) if kept else 0)
        return [run for run in runs if run not in done] if kept else []

    def end(self, run) -> None:
        ending(run)
        way = self.chance.random()
        if way < 0.15:
            assert fail(self.conn, run, retry_in="5 milliseconds") == "retryable"
        elif way < 0.3:
            assert release(self.conn, run) is True
        else:
            self.conn.execute("BEGIN; SELECT count(*) FROM turnstile.jobs")
            assert complete(self.conn, run) is True
            self.conn.execute("COMMIT")
            self.progress.add()

    def hand_on(self, run) -> None:
        ending(run)
        sent = time.monotonic()
        job = complete_and_claim_next(self.conn, run)
        self.progress.add()
        for following in self.log.claimed([job] if job else [], gates_of, sent):
            ending(following)
            self.retry(lambda: complete(self.conn, following))
            self.progress.add()


class Producer:
    """Enqueues in transactions with an old snapshot; a batch that failed is made again."""

    def __init__(self, conn, level: str, batches: list):
        self.conn, self.batches = conn, batches
        self.made: list[int] = []
        conn.execute(f"SET default_transaction_isolation = '{level.lower()}'")

    def work(self) -> None:
        for batch in self.batches:
            made, _ = _again_if_not_serialised(self.conn, lambda batch=batch: self.enqueue(batch))
            self.made += made

    def enqueue(self, batch: list) -> list[int]:
        self.conn.execute("BEGIN; SELECT count(*) FROM turnstile.job")
        made = ids(enqueue_many(self.conn, batch))
        self.conn.execute("COMMIT")
        return made


class Administrator:
    """Re-ranks and moves limits back and forth, within what they were at first."""

    def __init__(self, conn, level: str, seed: int, progress: Progress, slots: dict[str, int]):
        self.conn, self.progress, self.slots = conn, progress, slots
        self.chance = random.Random(seed)
        conn.execute(f"SET default_transaction_isolation = '{level.lower()}'")

    def work(self) -> None:
        while self.progress.going:
            _again_if_not_serialised(self.conn, self.meddle)
            time.sleep(0.01)

    def meddle(self) -> None:
        gate = self.chance.choice(list(self.slots))
        self.conn.execute("BEGIN; SELECT count(*) FROM turnstile.job")
        set_limit(self.conn, gate, self.chance.randint(1, self.slots[gate]))
        self.conn.execute(
            "UPDATE turnstile.job SET priority = %s WHERE id IN (SELECT id FROM turnstile.job"
            " WHERE state = 'available' ORDER BY random() LIMIT 3)",
            [self.chance.choice([120, 240])],
        )
        self.conn.execute("COMMIT")


@pytest.mark.parametrize("levels", [*[[level] for level in LEVELS[1:]], LEVELS], ids=[*LEVELS[1:], "mixed"])
def test_a_random_load_loses_doubles_and_blocks_nothing(db, conn, levels, seed):
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    progress = Progress(JOBS)
    workers = [Worker(db.connect(), levels[n % len(levels)], seed + n, progress) for n in range(6)]
    batches = [random_jobs(chance, 15) for _ in range(JOBS // 15)]
    producers = [Producer(db.connect(), levels[n % len(levels)], batches[n::2]) for n in range(2)]
    administrator = Administrator(db.connect(), levels[-1], seed, progress, slots)
    sampler = Sampler(db.connect, progress, slots)
    together([*[one.work for one in [*workers, *producers, administrator]], sampler], progress)

    runs = [run for worker in workers for run in worker.log.runs]
    assert violations(runs, Limits(slots)) == []
    assert repeated(runs) == []
    sampler.saw_no_limit_passed()
    is_sound(conn)
    made = [job_id for producer in producers for job_id in producer.made]
    has_each_once(conn, made)
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    made += ids(enqueue_many(conn, random_jobs(chance, 200)))
    naive.claim_all_as_predicted(conn, QUEUES)
    run_to_the_end(conn, QUEUES, slots)
    is_sound(conn)
    has_each_once(conn, made)
