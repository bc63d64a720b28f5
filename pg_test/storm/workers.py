"""Workers that do all that workers do, go and come again, and write down when each run was certainly held."""

import random
import time
from collections import Counter

import psycopg

from support import calls
from support.crew import Progress
from support.load import QUEUES, gates_of, random_jobs
from support.runlog import Run, RunLog, ending, undoing

# What plain SQL gives beside the same changes of definitions, to transactions of several statements. Nothing else may come:
# no internal error (XX…), no deadlock of a single call, which has no lock when it begins, and no 55000 or P0002, since
# nobody else ends these runs and their leases are long.
ALLOWED = {"40P01": "a deadlock: a transaction that has locks meets one that has others, and waits for these"}

LEASE = "1 hour"


class Worker:
    def __init__(self, connect, seed: int, progress: Progress):
        self.connect, self.progress = connect, progress
        self.conn = connect()
        self.chance = random.Random(seed)
        self.log = RunLog()
        self.held: list[Run] = []
        self.made: list[int] = []
        self.done, self.errors = Counter(), Counter()

    def __call__(self) -> None:
        steps = [
            self.enqueue, self.enqueue, self.claim, self.claim, self.claim_and_wait, self.end, self.end, self.end_many, self.go_on,
            self.heartbeat, self.cancel_waiting, self.ask_to_stop, self.transaction, self.transaction, self.come_again, self.look,
        ]  # fmt: skip
        while self.progress.going:
            self.try_to(self.chance.choice(steps))
            if len(self.held) > 6:
                self.try_to(self.end)
        while self.held:
            self.try_to(self.end)
        self.conn.close()

    def try_to(self, step) -> None:
        """One step; what an error has undone is as it was before."""
        before, log = list(self.held), len(self.log.runs)
        made, asked = len(self.made), time.monotonic()
        try:
            step()
            self.done[step.__name__] += 1
        except psycopg.Error as error:
            is_allowed = error.sqlstate in ALLOWED and step == self.transaction
            assert is_allowed, f"{step.__name__}: {error.sqlstate}: {error}"
            self.errors[error.sqlstate] += 1
            self.conn.execute("ROLLBACK")
            self.as_before(before, log, made, asked)

    def as_before(self, before, log: int, made: int, asked: float) -> None:
        for run in self.log.runs[log:]:
            run.undone, run.ended = True, min(run.ended, asked)
        del self.made[made:]
        self.held = [self.log.resumed(run) if run.ended < float("inf") else run for run in before]

    # ---- Steps, each a transaction or nearly so ------------------------------------------------------

    def enqueue(self) -> None:
        (job, *more) = random_jobs(self.chance, self.chance.choice([1, 1, 4]))
        if more:
            self.made += calls.ids(calls.enqueue_many(self.conn, [job, *more]))
            return
        if self.chance.random() < 0.2:
            # Its own key: nobody else holds it.
            job["unique_key"] = f"{id(self)} {self.chance.random()}"
        self.made.append(calls.enqueue(self.conn, **job))

    def claim(self, **arguments) -> list[Run]:
        sent = time.monotonic()
        if self.chance.random() < 0.5:
            job = calls.claim_next(self.conn, self.chance.choice([*QUEUES, "*"]), lease=LEASE, **arguments)
            jobs = [job] if job else []
        else:
            queues = self.chance.sample(QUEUES, 2)
            jobs = calls.claim(self.conn, queues, self.chance.randint(1, 3), lease=LEASE, **arguments)
        runs = self.log.claimed(jobs, gates_of, sent)
        self.held += runs
        return runs

    def claim_and_wait(self) -> None:
        self.claim(wait="20 milliseconds")

    def end(self) -> None:
        """Ends one of its runs in some way."""
        if not self.held:
            return
        run = self.held.pop(self.chance.randrange(len(self.held)))
        ending(run)
        way = self.chance.random()
        if way < 0.5:
            assert calls.complete(self.conn, run) is True
        elif way < 0.65:
            assert calls.fail(self.conn, run, retry_in="5 milliseconds") in ("retryable", "cancelled")
        elif way < 0.75:
            assert calls.discard(self.conn, run) in ("discarded", "cancelled")
        elif way < 0.9:
            assert calls.release(self.conn, run) is True
        else:
            assert calls.snooze(self.conn, run, "5 milliseconds") is True

    def end_many(self) -> None:
        runs, self.held = self.held, []
        for run in runs:
            ending(run)
        assert calls.complete_many(self.conn, runs) == len(runs)

    def go_on(self) -> None:
        if not self.held:
            return
        run = self.held.pop()
        ending(run)
        job = calls.complete_and_claim_next(self.conn, run, lease=LEASE)
        self.held += self.log.claimed([job] if job else [], gates_of, run.ended)

    def heartbeat(self) -> None:
        for run in self.held:
            calls.call(self.conn, "heartbeat", job_id=run.id, attempt=run.attempt, lease=LEASE)
            calls.call(self.conn, "progress", job_id=run.id, attempt=run.attempt, done=1)

    def cancel_waiting(self) -> None:
        """A job that nobody claims, as its time is far."""
        job = calls.enqueue(self.conn, queue="q1", tenant="t1", run_at="2100-01-01")
        self.made.append(job)
        assert calls.cancel(self.conn, job) == "cancelled"

    def ask_to_stop(self) -> None:
        if self.held:
            assert calls.cancel(self.conn, self.chance.choice(self.held).id) == "running"

    def look(self) -> None:
        assert self.conn.execute("SELECT count(*) >= 0 FROM turnstile.jobs").fetchone() == (True,)

    def come_again(self) -> None:
        """A new session, which has to find out everything anew."""
        self.conn.close()
        self.conn = self.connect()

    def transaction(self) -> None:
        """Several of these in one, with a savepoint that may be undone; committed, rolled back, or left by a connection that goes."""
        before, log, made, asked = list(self.held), len(self.log.runs), len(self.made), time.monotonic()
        self.conn.execute("BEGIN")
        for _ in range(self.chance.randint(1, 3)):
            self.chance.choice([self.enqueue, self.claim, self.end, self.heartbeat])()
        if self.chance.random() < 0.4:
            self.behind_a_savepoint()
        way = self.chance.random()
        if way < 0.6:
            self.conn.execute("COMMIT")
            return
        undoing([run for run in self.log.runs[log:] if not run.undone])
        if way < 0.9:
            self.conn.execute("ROLLBACK")
        else:
            self.come_again()
        self.as_before(before, log, made, asked)

    def behind_a_savepoint(self) -> None:
        before, log, made, asked = list(self.held), len(self.log.runs), len(self.made), time.monotonic()
        self.conn.execute("SAVEPOINT inner_work")
        self.chance.choice([self.enqueue, self.claim, self.end])()
        if self.chance.random() < 0.5:
            self.conn.execute("RELEASE SAVEPOINT inner_work")
        else:
            self.conn.execute("ROLLBACK TO SAVEPOINT inner_work")
            self.as_before(before, log, made, asked)
