"""Who follows the jobs that end sees each of them once, while transactions end them out of order, in savepoints, and roll back."""

import random
import time

import pytest

from support.calls import call, claim, complete, complete_many, enqueue_times
from support.crew import Progress, together
from support.tail import Tail, history

ENDERS = 6
JOBS = 1200


class Ender:
    """Ends jobs in transactions that stay open for a while."""

    def __init__(self, conn, seed: int, progress: Progress):
        self.conn, self.chance, self.progress = conn, random.Random(seed), progress

    def __call__(self):
        while self.progress.going:
            self.conn.execute("BEGIN")
            runs = claim(self.conn, ["default"], self.chance.randint(1, 5))
            if not runs:
                self.conn.execute("ROLLBACK")
                self.progress.idle()
                continue
            kept = self._end(runs)
            time.sleep(self.chance.choice([0, 0, 0.002, 0.05]))
            if self.chance.random() < 0.1:
                self.conn.execute("ROLLBACK")
            else:
                # Whatever a savepoint has undone is still this transaction's to end.
                complete_many(self.conn, [run for run in runs if run not in kept])
                self.conn.execute("COMMIT")
                self.progress.add(len(runs))

    def _end(self, runs) -> list:
        """The runs that have ended behind savepoints, or before them."""
        kept = []
        for run in runs:
            self.conn.execute("SAVEPOINT s")
            complete(self.conn, run)
            time.sleep(self.chance.choice([0, 0, 0.001]))
            if self.chance.random() < 0.2:
                self.conn.execute("ROLLBACK TO s")
            else:
                kept.append(run)
            if self.chance.random() < 0.5:
                self.conn.execute("RELEASE s")
        return kept


class Restless(Tail):
    """Forgets what it was given at a place of chance, and goes on from there."""

    def __init__(self, conn, seed: int):
        super().__init__(conn, max_rows=20)
        self.chance = random.Random(seed)

    def read(self) -> list:
        rows = call(self.conn, "recent", since=self.cursor, max_rows=self.max_rows)
        kept = rows[: self.chance.randint(1, len(rows))] if rows else rows
        self.keep(kept)
        return kept


@pytest.mark.parametrize("case", range(2))
def test_each_end_is_seen_once(db, conn, case, seed):
    chance = random.Random(seed)
    progress = Progress(JOBS)
    enqueue_times(conn, JOBS)
    tails = [Tail(db.connect()), Tail(db.connect(), max_rows=1), Tail(db.connect(), max_rows=7), Restless(db.connect(), seed)]
    # One whose own transactions have ids, and which is one behind.
    writer = Tail(db.connect())
    writer.conn.execute("CREATE TABLE seen (id bigint)")

    def follow(tail):
        reads = 0
        while progress.going:
            reads += bool(tail.read())
        return reads

    def follow_and_write():
        while progress.going:
            with writer.conn.transaction():
                writer.conn.execute("INSERT INTO seen SELECT 0")
                writer.read()

    enders = [Ender(db.connect(), chance.randrange(2**31), progress) for _ in range(ENDERS)]
    reads = together([*enders, *(lambda tail=tail: follow(tail) for tail in tails), follow_and_write], progress)
    assert all(count > 10 for count in reads[ENDERS : ENDERS + len(tails)]), "it was all over before they looked"
    expected = history(conn)
    assert len(expected) == JOBS
    for tail in [*tails, writer]:
        tail.to_the_end()
        assert tail.seen == expected
