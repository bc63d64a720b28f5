"""usage: DATABASE_URL=postgresql://localhost/mydb python worker.py [queue]"""

import contextlib
import os
import signal
import sys
import time

import psycopg

CLAIM_NEXT = "SELECT id, attempt, payload FROM turnstile.claim_next(%s)"
COMPLETE_AND_CLAIM_NEXT = "SELECT id, attempt, payload FROM turnstile.complete_and_claim_next(%s, %s)"
COMPLETE = "SELECT turnstile.complete(%s, %s)"
FAIL = "SELECT turnstile.fail(%s, %s, %s)"
RELEASE = "SELECT turnstile.release(%s, %s)"
WAIT = "CALL turnstile.wait_for_job(ARRAY[%s], '1 minute')"


def work(db, queue, stop):
    job = None
    while not stop.asked:
        job = job or db.execute(CLAIM_NEXT, [queue]).fetchone()
        if not job:
            with stop.at_once(db):
                db.execute(WAIT, [queue])
            continue
        id, attempt, payload = job
        try:
            handle(payload, attempt)
        except Exception as error:
            db.execute(FAIL, [id, attempt, repr(error)])
            job = None
        else:
            if stop.asked:
                db.execute(COMPLETE, [id, attempt])
                return
            job = db.execute(COMPLETE_AND_CLAIM_NEXT, [id, attempt]).fetchone()
    if job:
        db.execute(RELEASE, job[:2])  # claimed, not started


def handle(payload, attempt):
    """Stands for your own work: takes so many seconds, and fails on its first so many attempts."""
    print(f"attempt {attempt}: {payload}", flush=True)
    time.sleep(payload.get("seconds", 0))
    if attempt <= payload.get("failures", 0):
        raise RuntimeError("was told to fail")


class Stop:
    """At work SIGTERM lets the job in hand end. Who sleeps holds no job and hangs up at once, which the server sees."""

    def __init__(self):
        self.asked, self.sleeper = False, None
        signal.signal(signal.SIGTERM, self)

    def __call__(self, *_):
        self.asked = True
        if self.sleeper:
            self.hang_up()

    @contextlib.contextmanager
    def at_once(self, db):
        self.sleeper = db
        if self.asked:
            self.hang_up()
        yield
        self.sleeper = None

    def hang_up(self):
        self.sleeper.close()
        raise KeyboardInterrupt


def main():
    stop, queue = Stop(), sys.argv[1] if len(sys.argv) > 1 else "default"
    # PgBouncer in transaction mode may not know prepared statements.
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None) as db:
        work(db, queue, stop)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
