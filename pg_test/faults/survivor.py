"""Workers that live through crashes: they remember what the server acknowledged, and find their runs again."""

import random
import time

import psycopg

from support.calls import claim, complete, complete_and_claim_next, enqueue_many, fail, ids, release
from support.crew import Progress
from support.load import QUEUES, gates_of, random_jobs
from support.runlog import RunLog, ending, undoing


class Survivor:
    """Enqueues, claims, completes, fails, releases and rolls back; a lost connection is made again."""

    def __init__(self, name: str, connect, seed: int, progress: Progress):
        self.name, self.connect, self.progress = name, connect, progress
        self.chance = random.Random(seed)
        self.conn = None
        self.log = RunLog()
        self.enqueued: list[int] = []
        self.completed: list[int] = []

    def work(self) -> None:
        while self.progress.going:
            try:
                self.conn = self.conn or self.come_back()
                self.step()
            except psycopg.OperationalError:
                self.conn = None
                time.sleep(0.02)
        if self.conn:
            self.conn.close()

    def come_back(self):
        """Ends the runs of this worker that a lost connection has left behind."""
        conn = self.connect()
        left = "SELECT turnstile.release(id, attempt) FROM turnstile.job WHERE state = 'running' AND worker = %s"
        for run in self.log.runs:
            ending(run)
        conn.execute(left, [self.name])
        return conn

    def step(self) -> None:
        way = self.chance.choice([self.produce, self.work_off, self.work_off, self.work_in_transaction, self.hand_on])
        way()

    def produce(self) -> None:
        made = ids(enqueue_many(self.conn, random_jobs(self.chance, 4)))
        self.enqueued += made

    def take(self) -> list:
        sent = time.monotonic()
        queues = self.chance.sample(QUEUES, 3)
        jobs = claim(self.conn, queues, self.chance.randint(1, 3), worker=self.name)
        if not jobs:
            time.sleep(0.005)
        runs = self.log.claimed(jobs, gates_of, sent)
        time.sleep(self.chance.random() * 0.004)
        return runs

    def end(self, run) -> None:
        ending(run)
        way = self.chance.random()
        if way < 0.1:
            fail(self.conn, run, retry_in="5 milliseconds")
        elif way < 0.2:
            release(self.conn, run)
        else:
            assert complete(self.conn, run) is True
            self.completed.append(run.id)
            self.progress.add()

    def work_off(self) -> None:
        for run in self.take():
            self.end(run)

    def work_in_transaction(self) -> None:
        """Claims and completes at once, kept or rolled back."""
        self.conn.execute("BEGIN")
        runs = self.take()
        kept = self.chance.random() < 0.6
        try:
            for run in runs:
                complete(self.conn, run)
            for run in runs:
                ending(run)
            self.conn.execute("COMMIT" if kept else "ROLLBACK")
        except psycopg.OperationalError:
            # Nobody knows since when the transaction is over.
            for run in runs:
                run.ended, run.undone = run.got, True
            raise
        if kept:
            self.completed += ids(runs)
            self.progress.add(len(runs))
        else:
            undoing(runs)

    def hand_on(self) -> None:
        for run in self.take():
            ending(run)
            sent = run.ended
            job = complete_and_claim_next(self.conn, run, worker=self.name)
            self.completed.append(run.id)
            self.progress.add()
            for following in self.log.claimed([job] if job else [], gates_of, sent):
                self.end(following)


def nothing_acknowledged_is_lost(conn, workers: list[Survivor]) -> None:
    """Each job whose enqueue was acknowledged is there once, and what was acknowledged as completed stays so."""
    states = conn.execute("SELECT id, array_agg(state) FROM turnstile.jobs GROUP BY id").fetchall()
    states = {job_id: found for job_id, found in states}
    twice = {job_id: found for job_id, found in states.items() if len(found) > 1}
    assert twice == {}, f"there more than once: {twice}"
    missing = {job_id for worker in workers for job_id in worker.enqueued} - set(states)
    assert missing == set(), f"enqueued, but not there: {missing}"
    done = [job_id for worker in workers for job_id in worker.completed]
    assert len(set(done)) == len(done), "completed twice"
    undone = {job_id: states.get(job_id) for job_id in done if states.get(job_id) != ["completed"]}
    assert undone == {}, f"acknowledged as completed, but now: {undone}"
