"""Unique keys under load: many producers and workers at once, and no more jobs than the modes allow."""

import contextlib
import json
import threading
import time

import pytest

from support import rows
from support.calls import claim_next, complete, enqueue, fail
from support.crew import Progress, together
from support.holders import WINDOW
from support.sleepers import until

WORKERS = 16
PRODUCERS = 100
PRESSES = 100
ENQUEUES = 1_000


def test_a_report_asked_for_by_100_connections_at_once_is_one_job(db, conn):
    """Reload pressed twice: one job and one id for all; after the window a new one although the first still runs."""
    report = {"kind": "report", "tenant": "acme", "unique_key": "report-7", "unique_for": "10 minutes"}
    made = set(together([lambda c=c: enqueue(c, **report) for c in [db.connect() for _ in range(PRESSES)]]))
    assert len(made) == 1
    job = claim_next(conn)
    assert {job.id} == made
    assert claim_next(conn) is None
    assert enqueue(conn, **report) == job.id
    conn.execute("UPDATE turnstile.unique_key SET expires_at = clock_timestamp()")
    second = enqueue(conn, **report)
    assert second != job.id
    assert claim_next(conn).id == second
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone() == (2,)


class _Runs:
    """Workers that hold what they have claimed until the gate opens; how many they hold at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0
        self.most = 0
        self.ended = []
        self.gate, self.stop = threading.Event(), threading.Event()

    def begin(self):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)

    def end(self, job_id):
        with self.lock:
            self.running -= 1
            self.ended.append(job_id)

    def work(self, conn):
        while not self.stop.is_set():
            job = claim_next(conn)
            if job is None:
                time.sleep(0.002)
                continue
            self.begin()
            self.gate.wait()
            self.end(job.id)
            assert complete(conn, job)

    @contextlib.contextmanager
    def by_workers(self, db):
        workers = [threading.Thread(target=self.work, args=[db.connect()]) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            self.gate.set()
            self.stop.set()
            for worker in workers:
                worker.join()


@pytest.mark.parametrize("enqueues", [3, ENQUEUES])
def test_enqueues_while_one_runs_give_exactly_one_more_run(db, conn, enqueues):
    runs, job = _Runs(), {"unique_key": "reindex", "unique_mode": "until_and_while_executing"}
    with runs.by_workers(db):
        first = enqueue(conn, **job)
        until(lambda: runs.running, "the first runs")

        def press(connection, times):
            return {enqueue(connection, **job) for _ in range(times)}

        producers = [db.connect() for _ in range(min(enqueues, PRODUCERS))]
        made = together([lambda c=c: press(c, enqueues // len(producers)) for c in producers])
        [second] = set().union(*made)
        assert second != first
        assert rows.counts(conn) == {"available": 1, "running": 1}
        runs.gate.set()
        until(lambda: rows.counts(conn) == {"completed": 2}, "both have run and no other is left")
    assert runs.ended == [first, second]
    assert runs.most == 1


KEYS = [f"key-{number}" for number in range(5)]


@pytest.mark.parametrize("mode", ["until_executing", "until_executed", "until_and_while_executing", "replace"])
def test_no_update_is_lost_between_producers_and_workers(db, conn, mode):
    """Producers change a row and enqueue its re-index in one transaction; workers note what they saw. In the end each
    row was seen as it is (but in until_executed, which drops updates that arrive while the job runs)."""
    conn.execute("CREATE TABLE document (key text PRIMARY KEY, version int DEFAULT 0, seen int DEFAULT -1)")
    conn.execute("INSERT INTO document (key) SELECT unnest(%s::text[])", [KEYS])
    rounds, producers, workers = 40, 6, 6
    progress = Progress(rounds * producers)
    done = threading.Event()

    def produce(connection, number):
        for step in range(rounds):
            key = KEYS[(step * (number + 1)) % len(KEYS)]
            connection.execute("BEGIN")
            connection.execute("UPDATE document SET version = version + 1 WHERE key = %s", [key])
            enqueue(connection, payload={"key": key}, unique_key=key, unique_mode=mode)
            connection.execute("ROLLBACK" if step % 7 == 3 else "COMMIT")
            progress.add()
        if not progress.going:
            done.set()

    def work(connection):
        while True:
            finished = done.is_set()
            job = claim_next(connection)
            if job is None:
                if finished:
                    return
                time.sleep(0.002)
                continue
            seen = connection.execute("SELECT version FROM document WHERE key = %s", [job.payload["key"]]).fetchone()[0]
            time.sleep(0.002)
            connection.execute(
                "UPDATE document SET seen = greatest(seen, %s) WHERE key = %s", [seen, job.payload["key"]]
            )
            if job.attempt == 1 and job.id % 5 == 0:
                fail(connection, job, retry_in="0 seconds")
            else:
                complete(connection, job)

    tasks = [lambda n=n, c=db.connect(): produce(c, n) for n in range(producers)]
    tasks += [lambda c=db.connect(): work(c) for _ in range(workers)]
    together(tasks, progress)
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    stale = conn.execute("SELECT key, version, seen FROM document WHERE seen < version").fetchall()
    assert stale == [] or mode == "until_executed"
    assert conn.execute("SELECT count(DISTINCT key) = count(*) FROM turnstile.unique_key").fetchone() == (True,)


def test_arrays_with_the_same_keys_in_any_order_do_not_deadlock(db, conn):
    keys = [f"k{number}" for number in range(30)]

    def produce(connection, number):
        rotated = keys[number:] + keys[:number]
        jobs = [{"kind": "work", "unique_key": key} for key in (rotated if number % 2 else reversed(rotated))]
        query = "SELECT id FROM turnstile.enqueue_many(%s::jsonb) ORDER BY id"
        return tuple(row[0] for row in connection.execute(query, [json.dumps(jobs)]).fetchall())

    made = set(together([lambda n=n, c=db.connect(): produce(c, n) for n in range(12)]))
    assert len(made) == 1
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (30,)


@pytest.mark.parametrize("mode", ["until_executed", "until_expired", "replace"])
def test_producers_that_roll_back_leave_the_key_to_the_next(db, conn, mode):
    def produce(connection, number):
        connection.execute("BEGIN")
        made = enqueue(connection, unique_key="k", unique_mode=mode, **WINDOW.get(mode, {}))
        connection.execute("ROLLBACK" if number < 19 else "COMMIT")
        return made if number == 19 else None

    made = together([lambda n=n, c=db.connect(): produce(c, n) for n in range(20)])
    kept = [job_id for job_id in made if job_id is not None]
    assert conn.execute("SELECT id FROM turnstile.job").fetchall() == [(kept[0],)]
