"""Random batches in batches and jobs after others, under workers that change their minds, cancels and rebuilds.

Whatever happens, all comes to an end: each parent once, after all of its children, and its counts are those of its children.
"""

import contextlib
import random
import time

import psycopg
import pytest

from support.batches import await_children, enqueue_batch, pruned
from support.calls import call, cancel, claim_next, complete, enqueue, enqueue_many, fail, ids
from support.crew import STALL, Progress, together
from support.errors import BAD_VALUE, NO_SUCH_JOB, WRONG_STATE

WORKERS = 8
BATCHES = 60
# What others may have done to a job meanwhile.
OVERTAKEN = (WRONG_STATE, NO_SUCH_JOB)

# A child that was added to a parent which runs outlives it, unless that steps aside.
EARLIER = "child.parent = parent.id AND child.created_at < coalesce(parent.claimed_at, parent.finished_at)"
WRONG = {
    "ended twice": "SELECT id FROM turnstile.job_history GROUP BY id HAVING count(*) > 1",
    "callback before the end of a child": f"""
        SELECT parent.id, child.id
          FROM turnstile.job_history AS parent
          JOIN turnstile.job_history AS child ON {EARLIER}
         WHERE parent.claimed_at <= child.finished_at""",
    "end before the end of a child": f"""
        SELECT parent.id, child.id
          FROM turnstile.job_history AS parent
          JOIN turnstile.job_history AS child ON {EARLIER}
         WHERE parent.finished_at < child.finished_at""",
    "other counts than those of its children": f"""
        SELECT parent.id, parent.children, array_agg(child.state)
          FROM turnstile.job_history AS parent
          LEFT JOIN turnstile.job_history AS child ON {EARLIER}
         WHERE parent.children IS NOT NULL AND parent.claimed_at IS NOT NULL
         GROUP BY parent.id, parent.children
        HAVING (parent.children ->> 'completed')::int <> count(*) FILTER (WHERE child.state = 'completed')
            OR (parent.children ->> 'discarded')::int <> count(*) FILTER (WHERE child.state = 'discarded')
            OR (parent.children ->> 'cancelled')::int <> count(*) FILTER (WHERE child.state = 'cancelled')""",
    "a child of nobody": """
        SELECT child.id FROM turnstile.job_history AS child
         WHERE child.parent IS NOT NULL
           AND NOT EXISTS (SELECT FROM turnstile.job_history AS parent WHERE parent.id = child.parent)""",
    "left of dependencies": "SELECT job FROM turnstile.dependency",
}


class Producer:
    """Makes batches of all sorts, some in one that is there already, some after others."""

    def __init__(self, conn, seed: int, progress: Progress):
        self.conn, self.chance, self.progress = conn, random.Random(seed), progress
        self.made: list[int] = []

    def __call__(self) -> None:
        for _ in range(BATCHES):
            if self.progress.broken:
                return
            try:
                self.made.append(self.make())
            except psycopg.Error as error:
                # A parent may have ended meanwhile, or be one that the batch is to come after.
                assert error.sqlstate in (*OVERTAKEN, BAD_VALUE), error
            time.sleep(self.chance.random() * 0.02)

    def make(self) -> int:
        chance = self.chance
        given = {
            "slots": chance.choice([None, 1, 2, 5]),
            "max_failed": chance.choice([None, None, 0, 2]),
            "on_end": chance.choice(["run", "run", "run_if_all_completed", "complete"]),
            "session": chance.choice([None, None, "s1", "s2"]),
            "priority": chance.choice([0, 0, 3, -3]),
        }
        if self.made and chance.random() < 0.3:
            given |= {"parent": chance.choice(self.made[-5:]), "session": None}
        elif self.made and chance.random() < 0.3:
            given |= {"after": chance.sample(self.made[-5:], 1), "after_any_end": chance.random() < 0.7}
        return enqueue_batch(self.conn, "batch", [self.child(n) for n in range(chance.randint(0, 12))], **given)

    def child(self, number: int) -> dict:
        names = {"ref": f"c{number}"}
        if number and self.chance.random() < 0.2:
            names["after_refs"] = [f"c{self.chance.randrange(number)}"]
        return {"kind": "child", "max_attempts": 50, **names}


class Worker:
    """Claims, and then completes, fails, adds children, or does it all for nothing."""

    def __init__(self, conn, seed: int, progress: Progress):
        self.conn, self.chance, self.progress = conn, random.Random(seed), progress
        self.left = 25

    def __call__(self) -> None:
        while self.progress.going:
            undone = self.chance.random() < 0.2
            if undone:
                self.conn.execute("BEGIN")
            job = claim_next(self.conn)
            if job:
                self.end(job)
            if undone:
                self.conn.execute(self.chance.choice(["ROLLBACK", "COMMIT"]))
            if not job:
                time.sleep(0.005)

    def end(self, job) -> None:
        try:
            with self.conn.transaction():
                self.chance.choice([self.complete, self.complete, self.complete, self.fail, self.discard, self.step_aside])(job)
        except psycopg.Error as error:
            assert error.sqlstate in OVERTAKEN, error
            self.give_up(job)

    def give_up(self, job) -> None:
        """Of a batch that is being stopped no run can add children; it goes on to its end."""
        with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState, psycopg.errors.NoDataFound), self.conn.transaction():
            complete(self.conn, job)

    def complete(self, job) -> None:
        complete(self.conn, job)

    def fail(self, job) -> None:
        """A callback fails for good: what was added while it ran does not hold another attempt back."""
        fail(self.conn, job, retry_in="5 milliseconds", discard=job.kind == "batch")

    def discard(self, job) -> None:
        fail(self.conn, job, discard=True)

    def step_aside(self, job) -> None:
        """With children of its own, or once more with none."""
        number = min(self.left, self.chance.randint(0, 3))
        self.left -= number
        for _ in range(number):
            enqueue(self.conn, "child", parent=job.id, max_attempts=50)
        if not await_children(self.conn, job):
            complete(self.conn, job)


def _disturb(conn, seed: int, progress: Progress, producer: Producer) -> None:
    chance = random.Random(seed)
    while progress.going:
        time.sleep(0.05)
        what = chance.choice(["rebuild", "cancel", "slots", "add"])
        batch = chance.choice(producer.made[-10:] or [0])
        try:
            if what == "rebuild":
                call(conn, "rebuild")
            elif what == "cancel" and chance.random() < 0.3:
                cancel(conn, batch)
            elif what == "slots":
                conn.execute("UPDATE turnstile.batch SET slots = %s WHERE id = %s", [chance.choice([None, 1, 4]), batch])
            elif what == "add" and chance.random() < 0.3:
                enqueue(conn, "child", parent=batch, max_attempts=50)
        except psycopg.Error as error:
            assert error.sqlstate in (*OVERTAKEN, BAD_VALUE), error


def _watch(conn, progress: Progress, producing) -> None:
    """Says when nothing is left; that nothing moves any more is an error."""
    last, seen = time.monotonic(), None
    while progress.going:
        now = conn.execute("SELECT count(*), count(*) FILTER (WHERE state = 'blocked'), sum(attempt) FROM turnstile.job").fetchone()
        if now[0] == 0 and not producing():
            progress.add()
            return
        if now != seen:
            last, seen = time.monotonic(), now
        states = "SELECT state, parent, id FROM turnstile.job ORDER BY id LIMIT 30"
        assert time.monotonic() - last < STALL, f"nothing moves: {conn.execute(states).fetchall()}"
        time.sleep(0.05)


@pytest.mark.parametrize("case", range(3))
def test_random_batches_come_to_their_end(db, conn, case, seed):
    progress = Progress(1)
    producer = Producer(db.connect(), seed, progress)
    is_over = []

    def produce():
        producer()
        is_over.append(True)

    workers = [Worker(db.connect(), seed + n, progress) for n in range(WORKERS)]
    disturber, watcher = db.connect(), db.connect()
    together([
        *workers, produce, lambda: _disturb(disturber, seed, progress, producer),
        lambda: _watch(watcher, progress, lambda: not is_over),
    ], progress)  # fmt: skip

    pruned(conn)
    found = {what: conn.execute(query).fetchall()[:5] for what, query in WRONG.items()}
    assert {what: those for what, those in found.items() if those} == {}
    ended = dict(conn.execute("SELECT state, count(*) FROM turnstile.job_history GROUP BY 1").fetchall())
    assert ended.keys() >= {"completed", "discarded"}
    print(ended)
    assert ids(enqueue_many(conn, [{"kind": "work"}])) == [claim_next(conn).id]
