"""Slots changed under load: no claim goes past the limit in force, nobody is interrupted, and a new limit is reached."""

import threading
import time

from support.calls import claim_next, complete, enqueue_many
from support.crew import Progress, together
from support.settings import configure

LIMITS = [5, 50, 2, 20]
WORKERS = 60
RUNNING = "SELECT count(*) FROM turnstile.job WHERE state = 'running'"
JOBS = 4_000


def test_each_limit_is_kept_from_its_commit_on_and_reached(db, conn):
    configure(conn, "tenant", "acme", slots=LIMITS[0])
    enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * JOBS)
    progress = Progress(JOBS)
    is_over = []
    holding = threading.Event()

    def worker():
        connection = db.connect()
        ended = 0
        while not is_over and not progress.broken:
            job = claim_next(connection)
            if job is None:
                time.sleep(0.005)
                continue
            while holding.is_set() and not is_over:
                time.sleep(0.005)
            # A run that was admitted goes on to its end, whatever became of the limit.
            assert complete(connection, job) is True
            ended += 1
            progress.add()
        return ended

    def operator():
        watcher = db.connect()
        try:
            for limit in LIMITS:
                configure(watcher, "tenant", "acme", slots=limit)
                holding.clear()
                _await(watcher, lambda running: running <= limit)
                # From here on nothing above the limit is ever admitted; while nobody ends the limit is reached.
                holding.set()
                _await(watcher, lambda running: running == limit, never_above=limit)
        finally:
            is_over.append(True)
        return 0

    ended = together([worker] * WORKERS + [operator], progress)
    assert sum(ended) == conn.execute("SELECT count(*) FROM turnstile.job_history WHERE attempt = 1").fetchone()[0]


def _await(watcher, condition, never_above=None):
    deadline = time.monotonic() + 60
    seen = []
    while time.monotonic() < deadline:
        running = watcher.execute(RUNNING).fetchone()[0]
        assert never_above is None or running <= never_above, f"{running} run, {never_above} may"
        if condition(running):
            return
        seen.append(running)
    raise AssertionError(f"the limit is not reached: {sorted(set(seen))} ran")
