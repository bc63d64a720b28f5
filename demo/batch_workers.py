"""Workers, threads with a connection each, that handle the jobs of the devices until the story is over."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone

import psycopg
from psycopg.types.json import Jsonb

QUEUE = "devices"
UNREACHABLE_EVERY = 100

CLAIM = """
SELECT id, attempt, (payload ->> 'device')::int, children FROM turnstile.claim_next(%s, worker => %s)
"""
WAIT = "CALL turnstile.wait_for_job(ARRAY[%s::text], '1 second')"
COMPLETE = "SELECT turnstile.complete(%s, %s, result => %s)"
DISCARD = "SELECT turnstile.fail(%s, %s, 'it cannot be reached', discard => true)"


def now():
    return datetime.now(timezone.utc)


def is_unreachable(device):
    return device is not None and device % UNREACHABLE_EVERY == 0


class Crew:
    def __init__(self, seconds_a_job):
        self.seconds_a_job = seconds_a_job
        self.asked_at = {}  # (id, attempt) → when its claim was sent
        self.over = threading.Event()
        self.workers = []

    def work(self, name):
        with psycopg.connect(autocommit=True) as connection:
            while not self.over.is_set():
                asked_at = now()
                job = connection.execute(CLAIM, [QUEUE, name]).fetchone()
                if job is None:
                    connection.execute(WAIT, [QUEUE])
                    continue
                self.asked_at[job[:2]] = asked_at
                self.handle(connection, *job)

    def handle(self, connection, job_id, attempt, device, children):
        time.sleep(random.uniform(0.5, 1.5) * self.seconds_a_job)
        if is_unreachable(device):
            connection.execute(DISCARD, [job_id, attempt])
        else:
            connection.execute(COMPLETE, [job_id, attempt, children and Jsonb(children)])

    def check(self):
        """A worker ends before the story only by an error."""
        for worker in self.workers:
            if worker.done():
                worker.result()


@contextmanager
def crew(number, seconds_a_job):
    found = Crew(seconds_a_job)
    with ThreadPoolExecutor(number) as pool:
        found.workers = [pool.submit(found.work, f"worker-{each}") for each in range(1, number + 1)]
        try:
            yield found
        finally:
            found.over.set()
