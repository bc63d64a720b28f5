"""Works a queue off over one psycopg connection: measures the file that each job names."""

import hashlib
import os
import stat
import sys
import time

import psycopg
from psycopg.types.json import Jsonb

PAUSE_WHEN_IDLE = 0.1
CHUNK = 1 << 20

CLAIM_NEXT = """
SELECT id, attempt, payload->>'path'
FROM turnstile.claim_next(queue => %(queue)s, worker => %(worker)s)
"""

CLAIM_ONE = """
SELECT id, attempt, payload->>'path'
FROM turnstile.claim(queues => ARRAY[%(queue)s], max_jobs => 1, worker => %(worker)s)
"""

COMPLETE_AND_CLAIM_NEXT = """
SELECT id, attempt, payload->>'path'
FROM turnstile.complete_and_claim_next(%(id)s, %(attempt)s, result => %(result)s, worker => %(worker)s)
"""

COMPLETE = "SELECT turnstile.complete(%(id)s, %(attempt)s, result => %(result)s)"

DISCARD = "SELECT turnstile.fail(%(id)s, %(attempt)s, error => %(error)s, discard => true)"

HAS_JOBS = "SELECT EXISTS (SELECT FROM turnstile.job WHERE queue = %(queue)s)"


def measure(path):
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"not a regular file: {path}")
    size = lines = 0
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            size += len(chunk)
            lines += chunk.count(b"\n")
            digest.update(chunk)
    return {"size": size, "lines": lines, "sha256": digest.hexdigest()}


class Worker:
    def __init__(self, connection, queue, name, style):
        self.connection = connection
        self.names = {"queue": queue, "worker": name}
        self.two_calls = style == "two-calls"

    def row(self, statement, **values):
        return self.connection.execute(statement, self.names | values).fetchone()

    def claim(self):
        return self.row(CLAIM_ONE if self.two_calls else CLAIM_NEXT)

    def complete_and_claim(self, job_id, attempt, result):
        values = {"id": job_id, "attempt": attempt, "result": Jsonb(result)}
        if self.two_calls:
            self.row(COMPLETE, **values)
            return self.claim()
        return self.row(COMPLETE_AND_CLAIM_NEXT, **values)

    def work_one(self, job):
        job_id, attempt, path = job
        try:
            result = measure(path)
        except OSError as error:
            self.row(DISCARD, id=job_id, attempt=attempt, error=str(error))
            return self.claim()
        return self.complete_and_claim(job_id, attempt, result)

    def run(self):
        job = self.claim()
        while job or self.row(HAS_JOBS)[0]:
            if job:
                job = self.work_one(job)
            else:
                time.sleep(PAUSE_WHEN_IDLE)
                job = self.claim()


def main():
    queue, name, style = sys.argv[1:]
    with psycopg.connect(autocommit=True) as connection:
        Worker(connection, queue, name, style).run()


if __name__ == "__main__":
    main()
