"""Clients of a random load. A steady one claims and completes; a restless one also changes its mind in every way.

Both write down in their log when each run was certainly held.
"""

import random
import time

from support import calls
from support.crew import Progress
from support.load import QUEUES, gates_of
from support.runlog import Run, RunLog, ending, undoing


class SteadyClient:
    """Claims one or several jobs of random queues, holds them a moment, completes them."""

    def __init__(self, conn, seed: int, progress: Progress):
        self.conn = conn
        self.chance = random.Random(seed)
        self.progress = progress
        self.log = RunLog()

    def work(self) -> RunLog:
        while self.progress.going:
            if not self.step():
                self.progress.idle()
        return self.log

    def step(self) -> bool:
        """One piece of work; False if there was none to find."""
        runs = self.take()
        self.hold()
        if len(runs) > 1 and self.chance.random() < 0.5:
            for run in runs:
                ending(run)
            assert calls.complete_many(self.conn, runs) == len(runs)
            self.progress.add(len(runs))
        else:
            for run in runs:
                self.complete_and_go_on(run)
        return bool(runs)

    def take(self) -> list[Run]:
        sent = time.monotonic()
        if self.chance.random() < 0.5:
            job = calls.claim_next(self.conn, self.chance.choice(QUEUES))
            jobs = [job] if job else []
        else:
            queues = self.chance.sample(QUEUES, self.chance.randint(1, 3))
            jobs = calls.claim(self.conn, queues, self.chance.randint(1, 4))
        return self.log.claimed(jobs, gates_of, sent)

    def hold(self) -> None:
        time.sleep(self.chance.random() * 0.004)

    def complete_and_go_on(self, run: Run) -> None:
        """Completes a run, and the ones it is handed for that, for a while."""
        while run and self.chance.random() < 0.5:
            ending(run)
            sent = run.ended
            job = calls.complete_and_claim_next(self.conn, run)
            self.progress.add()
            run = self.log.claimed([job], gates_of, sent)[0] if job else None
            self.hold()
        if run:
            ending(run)
            assert calls.complete(self.conn, run) is True
            self.progress.add()


class RestlessClient(SteadyClient):
    """Also fails, releases, and rolls back claims and ends, whole or to a savepoint."""

    def step(self) -> bool:
        return self.chance.choice([super().step, self.change_of_mind, self.claim_in_transaction, self.end_in_transaction])()

    def end(self, run: Run) -> int:
        """Ends a run in some way; 1 if the job ended with it."""
        ending(run)
        way = self.chance.choice(["complete", "complete", "fail", "discard", "release"])
        if way == "complete":
            assert calls.complete(self.conn, run) is True
        elif way == "fail":
            assert calls.fail(self.conn, run, retry_in="5 milliseconds") == "retryable"
        elif way == "discard":
            assert calls.discard(self.conn, run) == "discarded"
        else:
            assert calls.release(self.conn, run) is True
        return way in ("complete", "discard")

    def change_of_mind(self) -> bool:
        """Single calls, each committed at once."""
        runs = self.take()
        self.hold()
        for run in runs:
            self.progress.add(self.end(run))
        return bool(runs)

    def claim_in_transaction(self) -> bool:
        """Claims, more claims behind a savepoint, some of it ended or undone, then all committed or rolled back."""
        self.conn.execute("BEGIN")
        runs = self.take()
        held = list(runs)
        if self.chance.random() < 0.5:
            self.conn.execute("SAVEPOINT more")
            more = self.take()
            if self.chance.random() < 0.6:
                undoing(more)
                self.conn.execute("ROLLBACK TO SAVEPOINT more")
            else:
                self.conn.execute("RELEASE SAVEPOINT more")
                runs, held = runs + more, held + more
        self.hold()
        ended = 0
        for run in list(held):
            if self.chance.random() < 0.5:
                held.remove(run)
                again, done = self.end_at_savepoint(run)
                held += [again] if again else []
                ended += done
        return self.commit_or_not(runs, held, ended)

    def end_at_savepoint(self, run: Run) -> tuple[Run | None, int]:
        """Ends a run behind a savepoint: it is either over, or goes on because that was rolled back."""
        self.conn.execute("SAVEPOINT ending")
        done = self.end(run)
        if self.chance.random() < 0.5:
            self.conn.execute("RELEASE SAVEPOINT ending")
            return None, done
        self.conn.execute("ROLLBACK TO SAVEPOINT ending")
        return self.log.resumed(run), 0

    def commit_or_not(self, claimed: list[Run], held: list[Run], ended: int) -> bool:
        """Ends the transaction in which these were claimed, and after a commit the runs still held."""
        if self.chance.random() < 0.4:
            undoing(claimed + held)
            self.conn.execute("ROLLBACK")
        else:
            self.conn.execute("COMMIT")
            self.progress.add(ended)
            for run in held:
                self.progress.add(self.end(run))
        return bool(claimed)

    def end_in_transaction(self) -> bool:
        """Ends runs claimed before, claims with the slots freed by that, and commits or rolls all of it back."""
        before = self.take()
        self.conn.execute("BEGIN")
        ended = sum(self.end(run) for run in before)
        after = self.take()
        self.hold()
        if self.chance.random() < 0.4:
            undoing(after)
            self.conn.execute("ROLLBACK")
            held = [self.log.resumed(run) for run in before]
        else:
            self.conn.execute("COMMIT")
            self.progress.add(ended)
            held = after
        for run in held:
            self.progress.add(self.end(run))
        return bool(before or after)
